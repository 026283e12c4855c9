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

function stageOf(how: Partial<RunSharing>, inputs: Parameters<typeof servedModel>[0] = [x]): PlaneHarness {
  const isShared = how.sharesRuns ?? true;
  return new PlaneHarness(
    {},
    servedModel(inputs, [y], { sharing: { ...sharing, ...how } }, isShared ? {} : { rowsMax: 1 }),
  );
}

const int32 = (...values: number[]): Uint8Array => new Uint8Array(Int32Array.from(values).buffer);
const shapesOf = (link: ScriptedLink) =>
  link.sent.flatMap((message) => (message.kind === 'dispatch' ? [message.inputs.map(({ shape }) => shape)] : []));

async function answerAll(stage: PlaneHarness, link: ScriptedLink): Promise<void> {
  await stage.turn();
  for (let batches = 0; link.inFlight.length > 0 && batches < 1000; batches++) {
    link.answers([{ index: 0, shape: link.inFlight[0]?.inputs[0]?.shape ?? [], data: echoed(link) }]);
    await stage.turn();
  }
}

const echoed = (link: ScriptedLink): Uint8Array => copyOf(link.inFlight[0]?.inputs[0]?.data ?? new Uint8Array());

test('requests of a version that does not share runs go one by one, each with all of its rows', async () => {
  const stage = stageOf({ sharesRuns: false, isGuessed: false });
  const link = stage.worker(1);
  const sent = [stage.send([1, 2, 3]), stage.send([4]), stage.send([5, 6, 7, 8, 9, 10, 11, 12])];
  await answerAll(stage, link);
  expect(sent.map(({ result }) => result)).toEqual(['answered 1 2 3', 'answered 4', 'answered 5 6 7 8 9 10 11 12']);
  expect(shapesOf(link)).toEqual([[[3, 1]], [[1, 1]], [[8, 1]]]);
  expect(stage.metric('millrace_batch_rows_sum')).toBe(12);
});

test('a request that gives an input its own value instead of the default of the graph shares no run', async () => {
  const bias = { name: 'bias', datatype: 'INT32', shape: [3], isOptional: true, hasDefault: true } as const;
  const stage = stageOf({ isGuessed: false }, [x, bias]);
  const link = stage.worker(1);
  const overriding = {
    inputs: [
      { ...x, shape: [2, 1], data: int32(1, 2) },
      { ...bias, data: int32(7, 8, 9) },
    ],
  };
  const sent = [stage.send([3]), stage.send([], undefined, overriding), stage.send([4]), stage.send([5])];
  await answerAll(stage, link);
  expect(sent.map(({ result }) => result)).toEqual(['answered 3', 'answered 1 2', 'answered 4', 'answered 5']);
  expect(shapesOf(link)).toEqual([[[3, 1]], [[2, 1], [3]]]);
});

test('unequal first sizes and no rows at all run alone with the shapes as sent, where nobody wrote a max_batch_size', async () => {
  const z = { name: 'z', datatype: 'INT32', shape: [-1, 1] } as const;
  const stage = stageOf({}, [x, z]);
  const link = stage.worker(1);
  const inputs = (rows: number, others: number) => ({
    inputs: [
      { ...x, shape: [rows, 1], data: int32(...Array(rows).fill(1)) },
      { ...z, shape: [others, 1], data: int32(...Array(others).fill(2)) },
    ],
  });
  const sent = [inputs(3, 1), inputs(0, 0), inputs(1, 1), inputs(2, 2)].map((one) => stage.send([], undefined, one));
  await answerAll(stage, link);
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

test('unequal first sizes and no rows at all are refused with Triton’s words where max_batch_size is written', async () => {
  const stage = stageOf({ isGuessed: false });
  stage.worker(1);
  const sent = stage.send([]);
  await stage.turn();
  expect(sent.result).toBe('invalid-request');
});

test('a shared run whose answer cannot be divided is repeated one by one, and nothing is shared after it', async () => {
  const stopped: string[] = [];
  const model = servedModel([x], [y], { sharing: { ...sharing, isGuessed: false } });
  const stage = new PlaneHarness({}, model, (_, reason) => stopped.push(reason));
  const link = stage.worker(1);
  const pooled = [{ index: 0, shape: [1, 1], data: int32(99) }];
  const sent = [stage.send([1]), stage.send([2])];
  await stage.turn();
  expect(shapesOf(link)).toEqual([[[2, 1]]]);
  link.answers(pooled);
  await stage.turn();
  link.answers([{ index: 0, shape: [1, 1], data: int32(1) }]);
  await stage.turn();
  link.answers([{ index: 0, shape: [1, 1], data: int32(2) }]);
  await stage.turn();
  expect(sent.map(({ result }) => result)).toEqual(['answered 1', 'answered 2']);
  const later = [stage.send([3]), stage.send([4])];
  await answerAll(stage, link);
  expect(later.map(({ result }) => result)).toEqual(['answered 3', 'answered 4']);
  expect(shapesOf(link)).toEqual([[[2, 1]], [[1, 1]], [[1, 1]], [[1, 1]], [[1, 1]]]);
  expect(stopped).toHaveLength(1);
  expect(stopped[0]).toContain("output 'y' of model 'm' has shape [1,1] for a batch of 2 rows of several requests");
  for (const { answer } of [...sent, ...later]) answer?.release();
  expect(new Set(stage.lane.releases())).toEqual(new Set([1]));
});
