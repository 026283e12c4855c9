import { expect, test } from 'vitest';
import { HeldClock } from '../testing/held-clock.ts';
import { copiesOf, copySlices, finish } from './copy-slices.ts';
import { copySliceBytesMax, SlicedWork } from './sliced-work.ts';

function* lettersOf(text: string, into: string[]): Generator<void, void> {
  for (const letter of text) {
    into.push(letter);
    yield;
  }
}

test('pieces of work take turns, one slice of all work in each turn of the event loop', () => {
  const clock = new HeldClock();
  const work = new SlicedWork(clock);
  const done: string[] = [];
  work.run(lettersOf('abc', done), () => done.push('first'));
  work.run(lettersOf('x', done), () => done.push('second'));
  expect(done).toEqual([]);
  clock.endOneTurn();
  expect(done).toEqual(['a']);
  for (let turn = 0; turn < 6; turn++) clock.endOneTurn();
  expect(done).toEqual(['a', 'x', 'b', 'second', 'c', 'first']);
  expect(work.count).toBe(0);
});

test('cancelled work runs no further slice, also when it cancels itself', () => {
  const clock = new HeldClock();
  const work = new SlicedWork(clock);
  const done: string[] = [];
  const cancel = work.run(lettersOf('abc', done), () => done.push('done'));
  clock.endOneTurn();
  cancel();
  clock.endTurn();
  let cancelSelf = (): void => {};
  const slices = {
    next: () => {
      cancelSelf();
      return { done: true, value: undefined } as const;
    },
  };
  cancelSelf = work.run(slices, () => done.push('done'));
  clock.endTurn();
  expect(done).toEqual(['a']);
});

test('no slice copies more than its limit, and small pieces share one', () => {
  const source = new Uint8Array(2 * copySliceBytesMax + 5).fill(7);
  const target = new Uint8Array(source.length);
  const small = { source: Uint8Array.of(1, 2), target: new Uint8Array(2) };
  const slices = copySlices([small, { source, target }, small]);
  let turns = 0;
  let before = 0;
  for (let isDone = false; !isDone; turns++) {
    isDone = slices.next().done === true;
    const copied = target.lastIndexOf(7) + 1;
    expect(copied - before).toBeLessThanOrEqual(copySliceBytesMax);
    before = copied;
  }
  expect(turns).toBe(3);
  expect(Buffer.compare(source, target)).toBe(0);
  expect(small.target).toEqual(small.source);
});

test('tensors are copied into memory of their own', () => {
  const data = Buffer.from('abc');
  const { tensors, slices } = copiesOf([
    { name: 'x', datatype: 'UINT8', shape: [3], data },
    { name: 'y', datatype: 'UINT8', shape: [0], data: new Uint8Array() },
  ]);
  finish(slices);
  data.fill(0);
  expect(tensors.map((tensor) => Buffer.from(tensor.data).toString())).toEqual(['abc', '']);
  expect(tensors[0]?.data.buffer.byteLength).toBe(3);
});
