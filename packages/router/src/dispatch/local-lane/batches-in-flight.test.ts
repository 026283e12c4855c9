import { type DispatchMessage, HeapRegion, MalformedFrame } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { BatchesInFlight } from './batches-in-flight.ts';

const released: number[] = [];
function dispatch(batch: number): DispatchMessage {
  const region = new HeapRegion(new Uint8Array(0));
  return {
    kind: 'dispatch',
    batch,
    model: 1,
    inputs: [],
    outputs: [],
    region: {
      bytes: region.bytes,
      release() {
        region.release();
        released.push(batch);
      },
    },
  };
}

test('batches are removed in dispatch order, and their memory is released', () => {
  released.length = 0;
  const batches = new BatchesInFlight();
  batches.push(dispatch(1));
  batches.push(dispatch(2), { kind: 'failed', batch: 2, code: 'unsupported', message: 'too long' });
  batches.push(dispatch(3));
  expect(batches.takeRefusal()).toBeUndefined();
  batches.mustTake(1);
  expect(batches.takeRefusal()?.batch).toBe(2);
  expect(batches.takeRefusal()).toBeUndefined();
  batches.mustTake(3);
  expect(released).toEqual([1, 2, 3]);
});

test('an answer out of order, or to no batch, is a protocol error', () => {
  const batches = new BatchesInFlight();
  expect(() => batches.mustTake(1)).toThrow(MalformedFrame);
  batches.push(dispatch(1));
  batches.push(dispatch(2));
  expect(() => batches.mustTake(2)).toThrow(/batch 2, but one to 1 was expected/);
});

test.each([
  ['without a requested output', [0]],
  ['with an output that was not requested', [0, 2, 1]],
  ['with another output', [0, 1]],
  ['with one output twice', [0, 0]],
])('an answer %s is a protocol error', (_, indices) => {
  const batches = new BatchesInFlight();
  const answerOf = (outputs: readonly number[]) => ({
    batch: 1,
    outputs: outputs.map((index) => ({ index, shape: [1], data: new Uint8Array(1) })),
  });
  batches.push({ ...dispatch(1), outputs: [0, 2] });
  expect(() => batches.mustTakeAnswered(answerOf(indices))).toThrow(MalformedFrame);
  batches.push({ ...dispatch(1), outputs: [0, 2] });
  batches.mustTakeAnswered(answerOf([2, 0]));
});

test('remaining batches are released at the end', () => {
  released.length = 0;
  const batches = new BatchesInFlight();
  batches.push(dispatch(7));
  batches.push(dispatch(8));
  expect(batches.isEmpty).toBe(false);
  batches.clear();
  batches.clear();
  expect(batches.isEmpty).toBe(true);
  expect(released).toEqual([7, 8]);
});

test('unordered batches may end in any order, and the answers to their calls are released', () => {
  released.length = 0;
  const batches = new BatchesInFlight();
  batches.isOrdered = false;
  batches.push(dispatch(1));
  batches.push(dispatch(2), { kind: 'failed', batch: 2, code: 'unsupported', message: 'too long' });
  batches.push(dispatch(3));
  batches.hold(3, dispatch(30).region);
  expect([batches.has(3), batches.has(4)]).toEqual([true, false]);
  batches.mustTake(3);
  expect(released).toEqual([3, 30]);
  expect(batches.takeRefusal()?.batch).toBe(2);
  expect(batches.takeRefusal()).toBeUndefined();
  expect(() => batches.mustTake(3)).toThrow(/batch 3, but none was expected/);
  batches.clear();
  expect(released).toEqual([3, 30, 2, 1]);
});

describe('batches of decoupled models', () => {
  const stepped = (): BatchesInFlight => {
    const batches = new BatchesInFlight();
    batches.isOrdered = false;
    batches.decoupledModels.add(5);
    batches.push({ kind: 'dispatch', batch: 1, model: 5, inputs: [], outputs: [0], region: noRegion });
    batches.push({ kind: 'dispatch', batch: 2, model: 6, inputs: [], outputs: [0], region: noRegion });
    return batches;
  };
  const noRegion = { bytes: new Uint8Array(), release: () => {} };
  const output = { index: 0, shape: [], data: new Uint8Array() };
  const part = (batch: number, sequence: number, outputs = [output]) =>
    ({ kind: 'partial-answer', batch, sequence, outputs, region: noRegion }) as const;

  test('give numbered parts, and end without outputs', () => {
    const batches = stepped();
    batches.mustNotePart(part(1, 1));
    batches.mustNotePart(part(1, 2));
    batches.mustTakeAnswered({ batch: 1, outputs: [] });
    expect(batches.has(1)).toBe(false);
  });

  test.each([
    ['a gap', part(1, 2), /partial answer 2 to batch 1, but 1 was expected/],
    ['an unknown batch', part(9, 1), /batch 9, which is not in flight or not of a decoupled model/],
    ['a model with one answer', part(2, 1), /batch 2, which is not in flight or not of a decoupled model/],
    ['other outputs', part(1, 1, []), /answered with outputs none, but the request was for 0/],
  ])('%s is a protocol error', (_, message, problem) => {
    expect(() => stepped().mustNotePart(message)).toThrow(problem);
  });

  test('an end with outputs is a protocol error', () => {
    expect(() => stepped().mustTakeAnswered({ batch: 1, outputs: [output] })).toThrow(
      /outputs 0, but the request was for none/,
    );
  });
});
