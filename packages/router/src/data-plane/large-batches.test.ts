import { expect, test, vi } from 'vitest';
import type { BatchShaping } from '../model/batch-shaping.ts';
import { copySliceBytesMax } from './sliced-work/sliced-work.ts';
import { servedModel } from './testing/models.ts';
import { PlaneHarness, type Sent } from './testing/plane-harness.ts';

const largeBytes = 3 * copySliceBytesMax;

/** A model that takes rows of any length and returns them. */
class LargeBatchHarness extends PlaneHarness {
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

test('a large batch is copied in slices and sent when the copy is complete', async () => {
  const harness = new LargeBatchHarness();
  const link = harness.worker(1);
  const sent = harness.rows(7, largeBytes);
  harness.beginCopy();
  expect(link.inFlight).toEqual([]);
  const region = harness.lane.regions[0]?.bytes;
  expect(region?.lastIndexOf(7)).toBe(copySliceBytesMax - 1);
  await harness.turn();
  expect(link.inFlight[0]?.inputs[0]?.data.every((byte) => byte === 7)).toBe(true);
  link.answers();
  await harness.turn();
  expect(sent.answer?.outputs[0]?.data.length).toBe(largeBytes);
  sent.answer?.release();
  expect(harness.lane.releases()).toEqual([1, 1]);
});

test('a worker gets its batches in the order of dispatch, and other workers do not wait', async () => {
  const harness = new LargeBatchHarness();
  const link = harness.worker(1, 3);
  harness.rows(1, largeBytes);
  harness.beginCopy();
  harness.rows(2, 8);
  harness.clock.endOneTurn();
  expect(link.inFlight).toEqual([]);
  const other = harness.worker(2, 1);
  harness.rows(3, 9);
  harness.clock.endTurn();
  await harness.turn();
  expect(link.inFlight.map(({ inputs }) => inputs[0]?.data.length)).toEqual([largeBytes, 8]);
  expect(other.inFlight.map(({ inputs }) => inputs[0]?.data.length)).toEqual([9]);
});

test.each(['cancelled', 'deadline-exceeded'] as const)(
  'a request that ends by %s while it is copied is rejected, and nothing is sent',
  async (reason) => {
    const harness = new LargeBatchHarness();
    const link = harness.worker(1);
    const sent = harness.rows(1, largeBytes, 50);
    harness.beginCopy();
    sent.cancellation.cancel(reason);
    harness.clock.endOneTurn();
    sent.data.fill(0xee);
    await harness.turn();
    expect(sent.result).toBe(reason);
    expect(link.inFlight).toEqual([]);
    expect(harness.lane.releases()).toEqual([1]);
    expect(harness.plane.sliced.count).toBe(0);
    expect(harness.metric('millrace_skipped_batches_total')).toBe(1);
    // The worker has its credit back.
    const next = harness.rows(2, 8);
    await harness.turn();
    expect(link.inFlight.map(({ inputs }) => inputs[0]?.data.length)).toEqual([8]);
    link.answers();
    await harness.turn();
    expect(next.result).toBe('answered 33686018 33686018');
  },
);

test('a caller that cancels while others share its batch is rejected once its inputs are no longer read', async () => {
  const harness = new LargeBatchHarness();
  const link = harness.worker(1);
  const half = largeBytes / 2;
  const [stays, leaves] = [harness.rows(1, half), harness.rows(2, half)];
  harness.beginCopy();
  leaves.cancellation.cancel('cancelled');
  harness.clock.endOneTurn();
  await new Promise((resolve) => setImmediate(resolve));
  expect(leaves.result).toBeUndefined();
  await harness.turn();
  expect(leaves.result).toBe('cancelled');
  leaves.data.fill(0xee);
  const [first, second] = [
    link.inFlight[0]?.inputs[0]?.data.subarray(0, half),
    link.inFlight[0]?.inputs[0]?.data.subarray(half),
  ];
  expect(first?.every((byte) => byte === 1) && second?.every((byte) => byte === 2)).toBe(true);
  link.answers();
  await harness.turn();
  expect(stays.answer?.outputs[0]?.shape).toEqual([1, half]);
});

test('a batch whose worker exits while it is copied is copied again for another worker', async () => {
  const harness = new LargeBatchHarness();
  const doomed = harness.worker(1);
  const sent = harness.rows(5, largeBytes);
  harness.beginCopy();
  doomed.dies();
  expect(harness.plane.sliced.count).toBe(0);
  expect(harness.lane.releases()).toEqual([1]);
  const other = harness.worker(2);
  await harness.turn();
  expect(other.inFlight[0]?.inputs[0]?.data.every((byte) => byte === 5)).toBe(true);
  other.answers();
  await harness.turn();
  expect(sent.answer?.outputs[0]?.data.length).toBe(largeBytes);
});

test('the exit of a worker after its batch was cancelled reports no batch that was never sent', async () => {
  const harness = new LargeBatchHarness();
  const doomed = harness.worker(1);
  const sent = harness.rows(5, largeBytes);
  harness.beginCopy();
  sent.cancellation.cancel('cancelled');
  harness.clock.endOneTurn();
  doomed.dies();
  await harness.turn();
  expect(sent.result).toBe('cancelled');
  expect(harness.lane.releases()).toEqual([1]);
});

test('a draining server finishes batches that are being copied', async () => {
  const harness = new LargeBatchHarness();
  const link = harness.worker(1);
  const sent = harness.rows(5, largeBytes);
  harness.beginCopy();
  let isDrained: boolean = false;
  const drained = harness.plane.drain().then(() => {
    isDrained = true;
  });
  await harness.turn();
  expect(isDrained).toBe(false);
  expect(link.inFlight).toHaveLength(1);
  link.answers();
  await harness.turn();
  await drained;
  expect(sent.answer?.outputs[0]?.data.length).toBe(largeBytes);
});

test('an input of 600 KB is copied once on its way to the worker, and its output not at all', async () => {
  const harness = new LargeBatchHarness();
  const link = harness.worker(1);
  const bytes = 602_112;
  const set = vi.spyOn(Uint8Array.prototype, 'set');
  const sent = harness.rows(7, bytes);
  await harness.turn();
  // The test runner may report over its own channel meanwhile, with prefixes of 4 bytes.
  const copied = set.mock.calls.reduce((sum, [{ length }]) => (length > 64 ? sum + length : sum), 0);
  set.mockRestore();
  expect(copied).toBe(bytes);
  const output = new Uint8Array(bytes);
  link.answers([{ index: 0, shape: [1, bytes], data: output }]);
  await harness.turn();
  expect(sent.answer?.outputs[0]?.data === output).toBe(true);
  sent.answer?.release();
});

test('requests that would be padded to more than a message may have run alone', async () => {
  const spec = { name: 'x', datatype: 'INT32', shape: [-1, -1, -1] } as const;
  const shaping: BatchShaping = {
    inputs: [{ kind: 'padded', fill: new Uint8Array(4) }],
    outputs: [{ kind: 'rows' }],
    generated: [],
    padRatioMax: 1_000_000,
    engine: { inputs: [spec], outputs: [spec], isBatched: true },
  };
  const harness = new PlaneHarness({}, servedModel([spec], [{ ...spec, name: 'y' }], { shaping }));
  const link = harness.worker(1);
  const columns = 20_000;
  const sent = [
    [1, columns, 1],
    [1, 1, columns],
  ].map((shape, fill) => {
    const data = new Uint8Array(4 * columns).fill(fill);
    return harness.send([], undefined, { inputs: [{ name: 'x', datatype: 'INT32', shape, data }] });
  });
  for (let turns = 0; turns < 6; turns++) {
    await harness.turn();
    if (link.inFlight.length > 0) link.answers();
  }
  expect(link.sent.flatMap((message) => (message.kind === 'dispatch' ? [message.inputs[0]?.shape] : []))).toEqual([
    [1, columns, 1],
    [1, 1, columns],
  ]);
  expect(sent.map(({ answer }) => answer?.outputs[0]?.data[0])).toEqual([0, 1]);
  for (const { answer } of sent) answer?.release();
  expect(harness.lane.releases().every((releases) => releases === 1)).toBe(true);
});
