import { copyOf } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { RunSharing } from '../model/run-sharing.ts';
import { servedModel } from './testing/models.ts';
import { PlaneHarness } from './testing/plane-harness.ts';
import type { ScriptedLink } from './testing/scripted-lane.ts';

const sharing: RunSharing = {
  sharesRuns: true,
  isGuessed: true,
  verdict: { kind: 'independent' },
  reason: '',
  advice: '',
};

const x = { name: 'x', datatype: 'INT32', shape: [-1, 1] } as const;
const y = { name: 'y', datatype: 'INT32', shape: [-1, 1] } as const;

function harnessOf(how: Partial<RunSharing>, inputs: Parameters<typeof servedModel>[0] = [x]): PlaneHarness {
  const isShared = how.sharesRuns ?? true;
  return new PlaneHarness(
    {},
    servedModel(inputs, [y], { sharing: { ...sharing, ...how } }, isShared ? {} : { rowsMax: 1 }),
  );
}

const int32 = (...values: number[]): Uint8Array => new Uint8Array(Int32Array.from(values).buffer);
const shapesOf = (link: ScriptedLink) =>
  link.sent.flatMap((message) => (message.kind === 'dispatch' ? [message.inputs.map(({ shape }) => shape)] : []));

async function answerAll(harness: PlaneHarness, link: ScriptedLink): Promise<void> {
  await harness.turn();
  for (let batches = 0; link.inFlight.length > 0 && batches < 1000; batches++) {
    link.answers([{ index: 0, shape: link.inFlight[0]?.inputs[0]?.shape ?? [], data: echoed(link) }]);
    await harness.turn();
  }
}

const echoed = (link: ScriptedLink): Uint8Array => copyOf(link.inFlight[0]?.inputs[0]?.data ?? new Uint8Array());

test('requests to a version that does not share runs are run one by one, each with all of its rows', async () => {
  const harness = harnessOf({ sharesRuns: false, isGuessed: false });
  const link = harness.worker(1);
  const sent = [harness.send([1, 2, 3]), harness.send([4]), harness.send([5, 6, 7, 8, 9, 10, 11, 12])];
  await answerAll(harness, link);
  expect(sent.map(({ result }) => result)).toEqual(['answered 1 2 3', 'answered 4', 'answered 5 6 7 8 9 10 11 12']);
  expect(shapesOf(link)).toEqual([[[3, 1]], [[1, 1]], [[8, 1]]]);
  expect(harness.metric('millrace_batch_rows_sum')).toBe(12);
});

test('a request that overrides an input\u2019s default of the graph shares no run', async () => {
  const bias = { name: 'bias', datatype: 'INT32', shape: [3], isOptional: true, hasDefault: true } as const;
  const harness = harnessOf({ isGuessed: false }, [x, bias]);
  const link = harness.worker(1);
  const overriding = {
    inputs: [
      { ...x, shape: [2, 1], data: int32(1, 2) },
      { ...bias, data: int32(7, 8, 9) },
    ],
  };
  const sent = [harness.send([3]), harness.send([], undefined, overriding), harness.send([4]), harness.send([5])];
  await answerAll(harness, link);
  expect(sent.map(({ result }) => result)).toEqual(['answered 3', 'answered 1 2', 'answered 4', 'answered 5']);
  expect(shapesOf(link)).toEqual([[[3, 1]], [[2, 1], [3]]]);
});

test('inputs with unequal first sizes, or without rows, run alone with the shapes as sent where max_batch_size is not configured', async () => {
  const z = { name: 'z', datatype: 'INT32', shape: [-1, 1] } as const;
  const harness = harnessOf({}, [x, z]);
  const link = harness.worker(1);
  const inputs = (rows: number, others: number) => ({
    inputs: [
      { ...x, shape: [rows, 1], data: int32(...Array(rows).fill(1)) },
      { ...z, shape: [others, 1], data: int32(...Array(others).fill(2)) },
    ],
  });
  const sent = [inputs(3, 1), inputs(0, 0), inputs(1, 1), inputs(2, 2)].map((one) => harness.send([], undefined, one));
  await answerAll(harness, link);
  expect(sent.map(({ result }) => result)).toEqual(['answered 1 1 1', 'answered ', 'answered 1', 'answered 1 1']);
  expect(shapesOf(link)).toEqual([
    [
      [3, 1],
      [1, 1],
    ],
    [
      [0, 1],
      [0, 1],
    ],
    [
      [3, 1],
      [3, 1],
    ],
  ]);
});

test('inputs with unequal first sizes, or without rows, are refused with Triton’s text where max_batch_size is configured', async () => {
  const harness = harnessOf({ isGuessed: false });
  harness.worker(1);
  const sent = harness.send([]);
  await harness.turn();
  expect(sent.result).toBe('invalid-request');
});

test('a shared run whose answer cannot be split is repeated one by one, and later requests share no run', async () => {
  const stopped: string[] = [];
  const model = servedModel([x], [y], { sharing: { ...sharing, isGuessed: false } });
  const harness = new PlaneHarness({}, model, (_, reason) => stopped.push(reason));
  const link = harness.worker(1);
  const pooled = [{ index: 0, shape: [1, 1], data: int32(99) }];
  const sent = [harness.send([1]), harness.send([2])];
  await harness.turn();
  expect(shapesOf(link)).toEqual([[[2, 1]]]);
  link.answers(pooled);
  await harness.turn();
  link.answers([{ index: 0, shape: [1, 1], data: int32(1) }]);
  await harness.turn();
  link.answers([{ index: 0, shape: [1, 1], data: int32(2) }]);
  await harness.turn();
  expect(sent.map(({ result }) => result)).toEqual(['answered 1', 'answered 2']);
  const later = [harness.send([3]), harness.send([4])];
  await answerAll(harness, link);
  expect(later.map(({ result }) => result)).toEqual(['answered 3', 'answered 4']);
  expect(shapesOf(link)).toEqual([[[2, 1]], [[1, 1]], [[1, 1]], [[1, 1]], [[1, 1]]]);
  expect(stopped).toHaveLength(1);
  expect(stopped[0]).toContain("output 'y' of model 'm' has shape [1,1] for a batch of 2 rows of several requests");
  for (const { answer } of [...sent, ...later]) answer?.release();
  expect(new Set(harness.lane.releases())).toEqual(new Set([1]));
});
