import { describe, expect, it } from 'vitest';
import {
  LoopPolling,
  type LoopPollingLimits,
  type PolledWait,
  pauseMsMax,
  pauseMsMin,
  shortWaitsMin,
  takenMsMax,
  takenMsMin,
} from './loop-polling.ts';

const waitMsMax = 0.2;
/** A turn of another thread, and how many of them are a busy core. */
const takenMs = 3;
const takenPolls = Math.ceil(takenMsMax / takenMs);

/** An event loop on a simulated clock, whose polls take 2 µs. */
class Loop {
  now = 1000;
  polls = 0;
  readonly polling: LoopPolling;

  constructor(limits: Partial<LoopPollingLimits> = {}) {
    this.polling = new LoopPolling({ waitMsMax, pollsForAnswers: true, ...limits });
  }

  /** Waits for so long; `takenMs`: another thread takes the core for so long at the first poll. Returns how many polls there were. */
  wait(kind: PolledWait, waitMs: number, takenMs = 0): number {
    const end = this.now + waitMs;
    let polls = 0;
    let isPolling = this.polling.begin(kind, this.now);
    while (isPolling && this.now < end) {
      polls += 1;
      this.now += 0.002;
      isPolling = this.polling.continues(this.now);
      if (!isPolling) break;
      const offeredAt = this.now;
      this.now += polls === 1 ? takenMs : 0;
      this.polling.offered(offeredAt, this.now);
    }
    this.now = Math.max(this.now, end);
    this.polling.end(this.now);
    return polls;
  }

  /** Enough short waits for the next one to be polled. */
  warmUp(kind: PolledWait): void {
    for (let count = 0; count < shortWaitsMin; count++) expect(this.wait(kind, 0.03)).toBe(0);
  }
}

describe('LoopPolling', () => {
  it('polls after several short waits in a row', () => {
    const loop = new Loop();
    loop.warmUp('request');
    expect(loop.wait('request', 0.03)).toBeGreaterThanOrEqual(15);
  });

  it('stops after the limit of a wait, and begins anew with short waits', () => {
    const loop = new Loop();
    loop.warmUp('request');
    const polls = loop.wait('request', 50);
    expect(polls * 0.002).toBeGreaterThan(waitMsMax);
    expect(polls * 0.002).toBeLessThan(waitMsMax + 0.01);
    loop.warmUp('request');
    expect(loop.wait('request', 0.03)).toBeGreaterThan(0);
  });

  it('never polls between requests that are far apart', () => {
    const loop = new Loop();
    for (let count = 0; count < 100; count++) expect(loop.wait('request', 1)).toBe(0);
  });

  it('polls for answers only where workers have cores of their own', () => {
    const own = new Loop();
    own.warmUp('answer');
    expect(own.wait('answer', 0.03)).toBeGreaterThan(0);
    const shared = new Loop({ pollsForAnswers: false });
    shared.warmUp('answer');
    expect(shared.wait('answer', 0.03)).toBe(0);
  });

  it('counts short waits of each kind apart', () => {
    const loop = new Loop();
    for (let count = 0; count <= shortWaitsMin; count++) {
      loop.wait('request', 0.03);
      expect(loop.wait('answer', 5), 'a model that runs for long is not polled for').toBe(0);
    }
    expect(loop.wait('request', 0.03)).toBeGreaterThan(0);
  });

  it('does not poll while several requests are in flight', () => {
    const loop = new Loop();
    loop.warmUp('answer');
    expect(loop.polling.begin('answer', loop.now)).toBe(true);
    loop.polling.abandon();
    expect(loop.polling.continues(loop.now)).toBe(false);
    loop.polling.end(loop.now);
    expect(loop.wait('answer', 0.03)).toBe(0);
  });

  it('pauses where another thread wants the core, for longer each time', () => {
    const loop = new Loop();
    loop.warmUp('request');
    let pauseMs = 0;
    for (let round = 0; round < 10; round++) {
      for (let count = 0; count < takenPolls; count++) {
        expect(loop.wait('request', 0.1, takenMs)).toBeGreaterThan(0);
        // The late wait was a long one.
        loop.warmUp('request');
      }
      expect(loop.wait('request', 0.03), 'paused').toBe(0);
      const pausedAt = loop.now;
      while (loop.wait('request', 0.15) === 0 && loop.now < pausedAt + 2 * pauseMsMax);
      const paused = loop.now - pausedAt;
      expect(paused).toBeGreaterThan(Math.min(pauseMs * 1.9, pauseMsMax - 10));
      pauseMs = paused;
    }
    expect(pauseMs).toBeLessThanOrEqual(pauseMsMax + 10);
    expect(loop.polling.pauses).toBe(10);
  });

  it('is not paused by work of its own thread', () => {
    const loop = new Loop();
    loop.warmUp('request');
    for (let count = 0; count < 50; count++) {
      expect(loop.polling.begin('request', loop.now)).toBe(true);
      // A large body is read between two polls.
      loop.now += 0.15;
      expect(loop.polling.continues(loop.now)).toBe(true);
      loop.now += 20;
      expect(loop.polling.continues(loop.now)).toBe(false);
      loop.polling.end(loop.now);
      loop.warmUp('request');
    }
    expect(loop.polling.pauses).toBe(0);
  });

  it('is not paused by interrupts and threads that compile', () => {
    const loop = new Loop();
    loop.warmUp('request');
    for (let count = 0; count < 200; count++) {
      expect(loop.wait('request', 0.1, takenMsMin)).toBeGreaterThan(0);
      loop.warmUp('request');
      loop.now += 10;
    }
  });

  it('forgets pauses after a calm time', () => {
    const loop = new Loop();
    loop.warmUp('request');
    const disturb = (): void => {
      for (let count = 0; count < takenPolls; count++) {
        loop.wait('request', 0.1, takenMs);
        loop.warmUp('request');
      }
    };
    disturb();
    loop.now += 10 * pauseMsMin;
    disturb();
    expect(loop.wait('request', 0.03)).toBe(0);
    loop.now += pauseMsMin;
    expect(loop.wait('request', 0.03)).toBeGreaterThan(0);
  });
});
