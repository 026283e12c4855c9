import { expect, test } from 'vitest';
import { copySliceBytesMax } from './sliced-work/sliced-work.ts';
import { servedModel } from './testing/models.ts';
import { PlaneHarness, type Sent } from './testing/plane-harness.ts';

const largeBytes = 3 * copySliceBytesMax;

/** A model that takes rows of any length and gives them back. */
class LargeOnStage extends PlaneHarness {
  constructor() {
    const tensor = { datatype: 'UINT8', shape: [-1, -1] } as const;
    super({}, servedModel([{ name: 'x', ...tensor }], [{ name: 'y', ...tensor }], {}, { queueBytesMax: 1e9 }));
  }

  rows(fill: number, bytes: number, timeoutMs?: number): Sent & { readonly data: Uint8Array } {
    const data = new Uint8Array(bytes).fill(fill);
    const inputs = [{ name: 'x', datatype: 'UINT8' as const, shape: [1, bytes], data }];
    return Object.assign(this.send([], timeoutMs, { inputs }), { data });
  }

  /** Until the batch is dispatched and its first slice is copied. */
  beginCopy(): void {
    this.clock.endOneTurn();
    this.clock.endOneTurn();
    expect(this.plane.sliced.count).toBeGreaterThan(0);
  }
}

test('a large batch is copied in slices and sent when all of it is there', async () => {
  const stage = new LargeOnStage();
  const link = stage.worker(1);
  const sent = stage.rows(7, largeBytes);
  stage.beginCopy();
  expect(link.inFlight).toEqual([]);
  const region = stage.lane.regions[0]?.bytes;
  expect(region?.lastIndexOf(7)).toBe(copySliceBytesMax - 1);
  await stage.turn();
  expect(link.inFlight[0]?.inputs[0]?.data.every((byte) => byte === 7)).toBe(true);
  link.answers();
  await stage.turn();
  expect(sent.answer?.outputs[0]?.data.length).toBe(largeBytes);
  sent.answer?.release();
  expect(stage.lane.releases()).toEqual([1, 1]);
});

test('a worker gets its batches in the order of dispatch, and other workers do not wait', async () => {
  const stage = new LargeOnStage();
  const link = stage.worker(1, 3);
  stage.rows(1, largeBytes);
  stage.beginCopy();
  stage.rows(2, 8);
  stage.clock.endOneTurn();
  expect(link.inFlight).toEqual([]);
  const other = stage.worker(2, 1);
  stage.rows(3, 9);
  stage.clock.endTurn();
  await stage.turn();
  expect(link.inFlight.map(({ inputs }) => inputs[0]?.data.length)).toEqual([largeBytes, 8]);
  expect(other.inFlight.map(({ inputs }) => inputs[0]?.data.length)).toEqual([9]);
});

test.each(['cancelled', 'deadline-exceeded'] as const)(
  'a request that ends by %s while it is copied is told, and nothing is sent',
  async (reason) => {
    const stage = new LargeOnStage();
    const link = stage.worker(1);
    const sent = stage.rows(1, largeBytes, 50);
    stage.beginCopy();
    sent.cancellation.cancel(reason);
    stage.clock.endOneTurn();
    sent.data.fill(0xee);
    await stage.turn();
    expect(sent.result).toBe(reason);
    expect(link.inFlight).toEqual([]);
    expect(stage.lane.releases()).toEqual([1]);
    expect(stage.plane.sliced.count).toBe(0);
    expect(stage.metric('millrace_skipped_batches_total')).toBe(1);
    // The worker has its credit back.
    const next = stage.rows(2, 8);
    await stage.turn();
    expect(link.inFlight.map(({ inputs }) => inputs[0]?.data.length)).toEqual([8]);
    link.answers();
    await stage.turn();
    expect(next.result).toBe('answered 33686018 33686018');
  },
);

test('a caller that gives up while others share its batch is told once its inputs are no longer read', async () => {
  const stage = new LargeOnStage();
  const link = stage.worker(1);
  const half = largeBytes / 2;
  const [stays, leaves] = [stage.rows(1, half), stage.rows(2, half)];
  stage.beginCopy();
  leaves.cancellation.cancel('cancelled');
  stage.clock.endOneTurn();
  await new Promise((resolve) => setImmediate(resolve));
  expect(leaves.result).toBeUndefined();
  await stage.turn();
  expect(leaves.result).toBe('cancelled');
  leaves.data.fill(0xee);
  const [first, second] = [
    link.inFlight[0]?.inputs[0]?.data.subarray(0, half),
    link.inFlight[0]?.inputs[0]?.data.subarray(half),
  ];
  expect(first?.every((byte) => byte === 1) && second?.every((byte) => byte === 2)).toBe(true);
  link.answers();
  await stage.turn();
  expect(stays.answer?.outputs[0]?.shape).toEqual([1, half]);
});

test('a worker that dies while a batch is copied costs nothing: it is copied again for another', async () => {
  const stage = new LargeOnStage();
  const doomed = stage.worker(1);
  const sent = stage.rows(5, largeBytes);
  stage.beginCopy();
  doomed.dies();
  expect(stage.plane.sliced.count).toBe(0);
  expect(stage.lane.releases()).toEqual([1]);
  const other = stage.worker(2);
  await stage.turn();
  expect(other.inFlight[0]?.inputs[0]?.data.every((byte) => byte === 5)).toBe(true);
  other.answers();
  await stage.turn();
  expect(sent.answer?.outputs[0]?.data.length).toBe(largeBytes);
});

test('a worker that dies after its batch was called off is told of no batch that it never had', async () => {
  const stage = new LargeOnStage();
  const doomed = stage.worker(1);
  const sent = stage.rows(5, largeBytes);
  stage.beginCopy();
  sent.cancellation.cancel('cancelled');
  stage.clock.endOneTurn();
  doomed.dies();
  await stage.turn();
  expect(sent.result).toBe('cancelled');
  expect(stage.lane.releases()).toEqual([1]);
});

test('a server that drains finishes what it copies', async () => {
  const stage = new LargeOnStage();
  const link = stage.worker(1);
  const sent = stage.rows(5, largeBytes);
  stage.beginCopy();
  let isDrained: boolean = false;
  const drained = stage.plane.drain().then(() => {
    isDrained = true;
  });
  await stage.turn();
  expect(isDrained).toBe(false);
  expect(link.inFlight).toHaveLength(1);
  link.answers();
  await stage.turn();
  await drained;
  expect(sent.answer?.outputs[0]?.data.length).toBe(largeBytes);
});
