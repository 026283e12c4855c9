import { Cancellation, neverCancelled } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { joinPieces } from './join-pieces.ts';
import { doAtOnce, nextSliceBytes, type SliceGenerator, SliceQueue, sliceBytes } from './slice-queue.ts';

/** A queue whose turns the test makes, and the work done in each. */
class Turns {
  readonly done: string[] = [];
  readonly #due: (() => void)[] = [];
  readonly queue = new SliceQueue((run) => this.#due.push(run));

  *work(name: string, slices: number): SliceGenerator<string> {
    for (let slice = 1; slice < slices; slice += 1) {
      this.done.push(name);
      yield;
    }
    this.done.push(name);
    return `${name} is done`;
  }

  /** What was done in one turn of the event loop. */
  turn(): string {
    const before = this.done.length;
    for (const run of this.#due.splice(0)) run();
    return this.done.slice(before).join();
  }
}

describe('sliced work', () => {
  test('runs one slice of one piece of work in a turn, owners and their work in rotation', async () => {
    const turns = new Turns();
    const results = Promise.all([
      turns.queue.run(turns.work('a1', 3), 'a', neverCancelled),
      turns.queue.run(turns.work('a2', 2), 'a', neverCancelled),
      turns.queue.run(turns.work('b1', 2), 'b', neverCancelled),
    ]);
    expect(Array.from({ length: 8 }, () => turns.turn())).toEqual(['a1', 'b1', 'a2', 'b1', 'a1', 'a2', 'a1', '']);
    expect(turns.queue.size).toBe(0);
    expect(await results).toEqual(['a1 is done', 'a2 is done', 'b1 is done']);
  });

  test('of an owner with much of it delays the work of another by one slice for each of its own', () => {
    const turns = new Turns();
    for (let one = 0; one < 100; one += 1) void turns.queue.run(turns.work('many', 50), 'a', neverCancelled);
    void turns.queue.run(turns.work('one', 3), 'b', neverCancelled);
    const done = Array.from({ length: 6 }, () => turns.turn());
    expect(done.filter((name) => name === 'one')).toHaveLength(3);
  });

  test('ends at its next slice when its caller has left, and runs its finally blocks', async () => {
    const turns = new Turns();
    const caller = new Cancellation();
    const ended: string[] = [];
    const work = function* (): SliceGenerator<void> {
      try {
        for (;;) yield;
      } finally {
        ended.push('ended');
      }
    };
    const result = turns.queue.run(work(), 'a', caller);
    turns.turn();
    turns.turn();
    caller.cancel('cancelled');
    turns.turn();
    await expect(result).rejects.toMatchObject({ code: 'cancelled' });
    expect(ended).toEqual(['ended']);
    expect(turns.queue.size).toBe(0);
  });

  test('that fails rejects, and the work behind it goes on', async () => {
    const turns = new Turns();
    // biome-ignore lint/correctness/useYield: it fails before it could
    const failing = function* (): SliceGenerator<void> {
      throw new Error('it fails');
    };
    const failed = turns.queue.run(failing(), 'a', neverCancelled);
    const other = turns.queue.run(turns.work('b', 1), 'b', neverCancelled);
    turns.turn();
    turns.turn();
    await expect(failed).rejects.toThrow('it fails');
    expect(await other).toBe('b is done');
  });

  test('that is small is done at once', () => {
    expect(doAtOnce(new Turns().work('a', 5))).toBe('a is done');
  });
});

test('slices grow from a small one to the largest', () => {
  const sizes = [nextSliceBytes(0)];
  for (let count = 0; count < 100; count += 1) sizes.push(nextSliceBytes(sizes.at(-1) as number));
  expect(sizes[0]).toBe(4096);
  expect(sizes.at(-1)).toBe(sliceBytes);
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
});

test('pieces are joined in order, in slices, and given up as they are copied', () => {
  const pieces: (Uint8Array | undefined)[] = Array.from({ length: 40 }, (_, index) =>
    new Uint8Array(100_000).fill(index),
  );
  const expected = Buffer.concat(pieces as Uint8Array[]);
  const work = joinPieces(pieces);
  expect(work.next().done).toBe(false);
  expect(pieces[0]).toBeUndefined();
  expect(pieces[39]).toBeDefined();
  expect(Buffer.compare(doAtOnce(work), expected)).toBe(0);
});
