import { expect, test } from 'vitest';
import { asideBytesMax, InputTurns, ownerInputMsPerTurn, type TurnInput } from './input-turns.ts';

/** An event loop whose time passes only where a read says so. */
class TestLoop {
  nowMs = 0;
  readonly turns = new InputTurns(
    () => this.nowMs,
    (next) => {
      this.#atEnd.push(next);
    },
  );
  #atEnd: (() => void)[] = [];

  get isWaiting(): boolean {
    return this.#atEnd.length > 0;
  }

  endTurn(): void {
    const ended = this.#atEnd;
    this.#atEnd = [];
    for (const next of ended) next();
  }
}

class TestInput implements TurnInput {
  readonly owner: string;
  readonly #bytes: number;
  asideBytes = 0;
  isHeld: boolean = false;
  reads = 0;
  #passAside = (): void => {};

  constructor(owner: string, bytes = 100) {
    this.owner = owner;
    this.#bytes = bytes;
  }

  holdInput(): void {
    this.isHeld = true;
  }

  releaseInput(): void {
    this.isHeld = false;
    if (this.asideBytes === 0) return;
    this.asideBytes = 0;
    this.#passAside();
  }

  read(loop: TestLoop, takesMs: number): void {
    if (this.isHeld) return;
    if (loop.turns.setAside(this, this.#bytes)) {
      this.asideBytes = this.#bytes;
      this.#passAside = () => this.#pass(loop, takesMs);
    } else this.#pass(loop, takesMs);
  }

  #pass(loop: TestLoop, takesMs: number): void {
    loop.turns.begin(this);
    this.reads += 1;
    loop.nowMs += takesMs;
    loop.turns.end(this);
  }
}

const inputsOf = (owner: string, count: number): TestInput[] =>
  Array.from({ length: count }, () => new TestInput(owner));

test('an owner that is alone is never held', () => {
  const loop = new TestLoop();
  const inputs = inputsOf('alone', 100);
  for (const input of inputs) input.read(loop, 10);
  expect(inputs.filter(({ isHeld }) => isHeld)).toEqual([]);
  expect(loop.isWaiting).toBe(false);
});

test('beside others an owner with much to read has its time in every turn, and all its connections get their turns', () => {
  const loop = new TestLoop();
  const heavy = inputsOf('heavy', 50);
  const light = new TestInput('light');
  const longest: number[] = [];
  for (let turn = 0; turn < 200; turn++) {
    const beganAt = loop.nowMs;
    light.read(loop, 0.01);
    for (const input of heavy) input.read(loop, 0.5);
    loop.endTurn();
    longest.push(loop.nowMs - beganAt);
  }
  // The first turn has reads, and then those that were set aside in it.
  expect(Math.max(...longest)).toBeLessThanOrEqual(2 * ownerInputMsPerTurn + 1.1);
  expect(longest.at(-1)).toBeLessThanOrEqual(ownerInputMsPerTurn + 0.6);
  expect(light.reads).toBe(200);
  const reads = heavy.map((input) => input.reads);
  expect(Math.min(...reads)).toBeGreaterThanOrEqual(Math.max(...reads) - 3);
  expect(Math.min(...reads)).toBeGreaterThan(10);
});

test('what connections have left to do of what they read counts as well, and comes in turn', () => {
  const loop = new TestLoop();
  const light = new TestInput('light');
  const done = Array.from({ length: 50 }, () => 0);
  for (const [connection, input] of inputsOf('heavy', 50).entries()) {
    const goOn = (): void => {
      loop.nowMs += 0.5;
      done[connection] = (done[connection] as number) + 1;
      loop.turns.goOnLater('heavy', goOn);
    };
    light.read(loop, 0.01);
    // Reading alone was cheap.
    input.read(loop, 0.1);
    loop.turns.goOnLater('heavy', goOn);
  }
  const longest: number[] = [];
  for (let turn = 0; turn < 200; turn++) {
    const beganAt = loop.nowMs;
    light.read(loop, 0.01);
    loop.endTurn();
    longest.push(loop.nowMs - beganAt);
  }
  expect(Math.max(...longest)).toBeLessThanOrEqual(ownerInputMsPerTurn + 0.52);
  expect(Math.min(...done)).toBeGreaterThanOrEqual(Math.max(...done) - 1);
  expect(Math.min(...done)).toBeGreaterThan(10);
});

test('what an owner that is alone has left is done in the next turn, all of it', () => {
  const loop = new TestLoop();
  let done = 0;
  for (let connection = 0; connection < 50; connection++) {
    loop.turns.goOnLater('alone', () => {
      loop.nowMs += 10;
      done += 1;
    });
  }
  loop.endTurn();
  expect(done).toBe(50);
  expect(loop.isWaiting).toBe(false);
});

test('what is held is released although nothing more arrives, and then nothing waits', () => {
  const loop = new TestLoop();
  const heavy = inputsOf('heavy', 20);
  new TestInput('light').read(loop, 0.01);
  for (const input of heavy) input.read(loop, 1);
  expect(heavy.filter(({ isHeld }) => isHeld).length).toBe(18);
  expect(heavy.reduce((reads, input) => reads + input.reads, 0)).toBe(3);
  let turns = 0;
  for (; loop.isWaiting && turns < 100; turns++) loop.endTurn();
  expect(heavy.filter(({ isHeld }) => isHeld)).toEqual([]);
  expect(turns).toBeLessThan(20);
});

test('a second after the others fell silent an owner is alone again', () => {
  const loop = new TestLoop();
  const heavy = new TestInput('heavy');
  new TestInput('light').read(loop, 0.01);
  heavy.read(loop, 5);
  expect(heavy.isHeld).toBe(true);
  loop.endTurn();
  expect(heavy.isHeld).toBe(false);
  loop.nowMs += 1001;
  heavy.read(loop, 5);
  expect(heavy.isHeld).toBe(false);
});

test('beyond a number of bytes nothing is set aside, and what is set aside is read once, in order', () => {
  const loop = new TestLoop();
  const heavy = Array.from({ length: 20 }, () => new TestInput('heavy', asideBytesMax / 8));
  new TestInput('light').read(loop, 0.01);
  for (const input of heavy) input.read(loop, 1);
  expect(heavy.filter(({ asideBytes }) => asideBytes > 0).length).toBe(8);
  expect(heavy.map(({ reads }) => reads)).toEqual([...Array(3).fill(1), ...Array(8).fill(0), ...Array(9).fill(1)]);
  while (loop.isWaiting) loop.endTurn();
  expect(heavy.every(({ reads, asideBytes }) => reads === 1 && asideBytes === 0)).toBe(true);
});
