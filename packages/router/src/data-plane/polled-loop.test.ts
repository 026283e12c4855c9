import { describe, expect, it } from 'vitest';
import { PolledLoop } from './polled-loop.ts';

/** An event loop whose turns take 2 µs, or sleep until the next event. */
class Turns {
  nowMs = 0;
  yields = 0;
  #callbacks: (() => void)[] = [];
  readonly loop = new PolledLoop(
    { now: () => this.nowMs, endOfTurn: (callback) => this.#callbacks.push(callback) },
    () => {
      this.yields += 1;
    },
    { waitMsMax: 0.2, pollsForAnswers: true },
  );

  get waitingCallbacks(): number {
    return this.#callbacks.length;
  }

  get isAwake(): boolean {
    return this.#callbacks.length > 0;
  }

  /** The next event comes after so long; returns how many turns there were meanwhile. */
  pass(ms: number): number {
    const end = this.nowMs + ms;
    let turns = 0;
    while (this.#callbacks.length > 0 && this.nowMs < end) {
      turns += 1;
      this.nowMs += 0.002;
      const callbacks = this.#callbacks;
      this.#callbacks = [];
      for (const callback of callbacks) callback();
    }
    this.nowMs = Math.max(this.nowMs, end);
    return turns;
  }

  request(waitMs = 0.04, runMs = 0.03): number {
    let turns = this.pass(waitMs);
    this.loop.added(1);
    turns += this.pass(runMs);
    this.loop.removed(0);
    return turns;
  }
}

describe('PolledLoop', () => {
  it('stays awake for one caller that sends one request after the other, and sleeps when it stops', () => {
    const turns = new Turns();
    expect(turns.request()).toBe(0);
    for (let count = 0; count < 20; count++) turns.request();
    turns.yields = 0;
    const polls = turns.request();
    expect(polls).toBeGreaterThan(25);
    expect(turns.loop.polls).toBeGreaterThanOrEqual(polls);
    expect(turns.loop.pauses).toBe(0);
    expect(turns.yields).toBeGreaterThan(polls - 4);
    expect(turns.isAwake).toBe(true);
    turns.pass(1);
    expect(turns.isAwake).toBe(false);
  });

  it('sleeps while several requests are in flight', () => {
    const turns = new Turns();
    for (let count = 0; count < 20; count++) turns.request();
    turns.loop.added(1);
    turns.loop.added(2);
    turns.loop.added(3);
    expect(turns.pass(0.1)).toBeLessThanOrEqual(1);
    turns.loop.removed(2);
    turns.loop.removed(1);
    turns.loop.removed(0);
    expect(turns.isAwake).toBe(false);
  });

  it('schedules one poll at a time', () => {
    const turns = new Turns();
    for (let count = 0; count < 20; count++) turns.request();
    for (let count = 0; count < 5; count++) {
      turns.loop.added(1);
      turns.loop.removed(0);
    }
    expect(turns.waitingCallbacks).toBe(1);
  });
});
