import { type DispatchMessage, HeapRegion, MalformedFrame } from '@millrace/protocol';
import { expect, test } from 'vitest';
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

test('batches leave in dispatch order, and with them their memory', () => {
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

test('an answer out of order, or to nothing, is a protocol error', () => {
  const batches = new BatchesInFlight();
  expect(() => batches.mustTake(1)).toThrow(MalformedFrame);
  batches.push(dispatch(1));
  batches.push(dispatch(2));
  expect(() => batches.mustTake(2)).toThrow(/batch 2 where one to 1 was due/);
});

test('what is left is released at the end', () => {
  released.length = 0;
  const batches = new BatchesInFlight();
  batches.push(dispatch(7));
  batches.push(dispatch(8));
  batches.clear();
  batches.clear();
  expect(released).toEqual([7, 8]);
});
