import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { ChaosDirection, noShaping } from './chaos-direction.ts';

/** A clock that goes when it is told. */
class HeldChaosClock {
  #now = 0;
  #timers: { readonly at: number; readonly call: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, call: () => void): () => void {
    const timer = { at: this.#now + ms, call };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }

  go(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.at - b.at).find(({ at }) => at <= end);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.#now = next.at;
      next.call();
    }
    this.#now = end;
  }
}

/** The part of a socket that a direction uses. */
class SocketDouble extends EventEmitter {
  readonly written: { readonly at: number; readonly text: string }[] = [];
  readonly #clock: HeldChaosClock;
  isPaused: boolean = false;
  isEnded: boolean = false;
  isFull: boolean = false;
  destroyed: boolean = false;

  constructor(clock: HeldChaosClock) {
    super();
    this.#clock = clock;
  }

  write(bytes: Uint8Array): boolean {
    this.written.push({ at: this.#clock.now(), text: Buffer.from(bytes).toString() });
    return !this.isFull;
  }

  end(): void {
    this.isEnded = true;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  get text(): string {
    return this.written.map(({ text }) => text).join('');
  }
}

function directionWith({ bufferedBytesMax = 100, random = (): number => 0 } = {}) {
  const clock = new HeldChaosClock();
  const from = new SocketDouble(clock);
  const to = new SocketDouble(clock);
  const direction = new ChaosDirection(from as unknown as Socket, to as unknown as Socket, {
    clock,
    random,
    bufferedBytesMax,
  });
  return { clock, from, to, direction, send: (text: string) => from.emit('data', Buffer.from(text)) };
}

test('without a fault bytes pass at once, and so does the end', () => {
  const { from, to, direction, send } = directionWith();
  send('abc');
  from.emit('end');
  expect(to.text).toBe('abc');
  expect(to.isEnded).toBe(true);
  expect(direction.passedBytes).toBe(3);
});

test('delayed bytes come later and in order, whatever their jitter is, and the end after them', () => {
  const jitters = [0.9, 0, 0.5];
  const { clock, from, to, direction, send } = directionWith({ random: () => jitters.shift() ?? 0 });
  direction.shape({ delayMs: 100, jitterMs: 50, bytesPerSecond: undefined });
  send('a');
  send('b');
  from.emit('end');
  clock.go(144);
  expect(to.text).toBe('');
  clock.go(1);
  expect(to.text).toBe('ab');
  expect(to.isEnded).toBe(true);
});

test('bytes that wait pass at once when the delay is taken away', () => {
  const { to, direction, send } = directionWith();
  direction.shape({ delayMs: 10_000, jitterMs: 0, bytesPerSecond: undefined });
  send('a');
  direction.shape(noShaping);
  expect(to.text).toBe('a');
});

test('a limited direction passes its bytes a second in pieces of 50 ms', () => {
  const { clock, to, direction, send } = directionWith();
  direction.shape({ delayMs: 0, jitterMs: 0, bytesPerSecond: 100 });
  send('0123456789abcdefghijklmno');
  clock.go(1000);
  expect(to.written).toEqual([
    { at: 0, text: '01234' },
    { at: 50, text: '56789' },
    { at: 100, text: 'abcde' },
    { at: 150, text: 'fghij' },
    { at: 200, text: 'klmno' },
  ]);
});

test('a sender waits when the buffer is full, and goes on when half of it is free', () => {
  const { clock, from, to, direction, send } = directionWith({ bufferedBytesMax: 10 });
  direction.shape({ delayMs: 0, jitterMs: 0, bytesPerSecond: 20 });
  send('0123456789x');
  expect(from.isPaused).toBe(true);
  expect(direction.bufferedBytes).toBe(10);
  clock.go(200);
  expect(direction.bufferedBytes).toBe(6);
  expect(from.isPaused).toBe(true);
  clock.go(50);
  expect(from.isPaused).toBe(false);
  expect(to.text).toBe('012345');
});

test('a receiver that does not read holds everything behind it back', () => {
  const { to, direction, send } = directionWith();
  to.isFull = true;
  send('a');
  send('b');
  expect(to.text).toBe('a');
  expect(direction.bufferedBytes).toBe(1);
  to.isFull = false;
  to.emit('drain');
  expect(to.text).toBe('ab');
});

test('a held direction loses nothing, a killed one everything', () => {
  const { from, to, direction, send } = directionWith();
  direction.hold(true);
  send('a');
  expect(to.text).toBe('');
  direction.hold(false);
  expect(to.text).toBe('a');
  direction.hold(true);
  send('b');
  direction.kill();
  direction.hold(false);
  send('c');
  from.emit('end');
  expect(to.text).toBe('a');
  expect(to.isEnded).toBe(false);
  expect(direction.bufferedBytes).toBe(0);
});
