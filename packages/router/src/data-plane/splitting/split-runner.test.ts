import { encodeBytesElements, neverCancelled } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { RunSharing } from '../../model/run-sharing.ts';
import type { ServedModel } from '../served-model.ts';
import { servedModel } from '../testing/models.ts';
import { PlaneHarness } from '../testing/plane-harness.ts';
import { inferRequest } from '../testing/requests.ts';
import type { ScriptedLink } from '../testing/scripted-lane.ts';
import { splitPartsAtOnceMax, splitPartsMax } from './split-runner.ts';

const guessed: RunSharing = {
  sharesRuns: true,
  isGuessed: true,
  verdict: { kind: 'independent' },
  reason: '',
  advice: '',
};

function guessedModel(policy: Parameters<typeof servedModel>[3] = {}): ServedModel {
  return servedModel(
    [{ name: 'x', datatype: 'INT32', shape: [-1, 1] }],
    [{ name: 'y', datatype: 'INT32', shape: [-1, 1] }],
    { sharing: guessed },
    policy,
  );
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, row) => row);

/** Lets the worker answer all that comes, until nothing is in flight any more. */
async function answerAll(stage: PlaneHarness, link: ScriptedLink): Promise<void> {
  for (let turns = 0; turns < 10_000; turns++) {
    await stage.turn();
    if (link.inFlight.length === 0) return;
    while (link.inFlight.length > 0) link.answers();
  }
  throw new Error('the worker was never idle');
}

const rowsOf = (link: ScriptedLink): (number | undefined)[] =>
  link.sent.flatMap((message) => (message.kind === 'dispatch' ? [message.inputs[0]?.shape[0]] : []));

test('a request with more rows than a batch may have is answered in parts, with its rows in order', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  const link = stage.worker(1, 2);
  const sent = stage.send(upTo(1000));
  await answerAll(stage, link);
  expect(sent.result).toBe(`answered ${upTo(1000).join(' ')}`);
  expect(sent.answer?.outputs[0]?.shape).toEqual([1000, 1]);
  expect(rowsOf(link)).toEqual(Array.from({ length: 125 }, () => 8));
  expect(stage.lane.releases().every((releases) => releases === 1)).toBe(true);
});

test('parts share batches with the requests of others, which wait for a few parts only', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  const link = stage.worker(1);
  const large = stage.send(upTo(403), undefined, { caller: 'large' });
  const small = stage.send([7000], undefined, { caller: 'small' });
  await stage.turn();
  for (let batches = 0; small.result === undefined && batches < 4; batches++) {
    link.answers();
    await stage.turn();
  }
  expect(small.result).toBe('answered 7000');
  expect(large.result).toBe(undefined);
  await answerAll(stage, link);
  expect(large.result).toBe(`answered ${upTo(403).join(' ')}`);
});

test('a request has no more parts in the queue at once than splitPartsAtOnceMax', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  stage.send(upTo(8 * (splitPartsAtOnceMax + 5)));
  await stage.turn();
  expect(stage.plane.inspection.workOf(stage.model).waitingRequests).toBe(splitPartsAtOnceMax);
});

test('a request with more rows than splitPartsMax batches is cut into larger parts, which run alone', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  const link = stage.worker(1, 2);
  const rows = 8 * splitPartsMax + 1;
  const sent = stage.send(upTo(rows));
  await answerAll(stage, link);
  expect(sent.result).toBe(`answered ${upTo(rows).join(' ')}`);
  expect(new Set(rowsOf(link))).toEqual(new Set([9, rows % 9]));
});

test('a queue that holds fewer requests than there are parts takes them one after the other', async () => {
  const stage = new PlaneHarness({}, guessedModel({ queueRequestsMax: 1 }));
  const link = stage.worker(1);
  const sent = stage.send(upTo(100));
  await answerAll(stage, link);
  expect(sent.result).toBe(`answered ${upTo(100).join(' ')}`);
});

test('a request with more bytes than the queue may hold is refused as any other', async () => {
  const stage = new PlaneHarness({}, guessedModel({ queueBytesMax: 100 }));
  stage.worker(1);
  const [small, large] = [stage.send(upTo(25)), stage.send(upTo(26))];
  await stage.turn();
  expect([small.result, large.result]).toEqual([undefined, 'request-too-large']);
});

test('one part that fails ends the request with its error, once, and the other parts are cancelled', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  const link = stage.worker(1, 3);
  const sent = stage.send(upTo(80));
  await stage.turn();
  link.answers();
  link.fails('inference-failed', 'index 9 is out of range');
  await answerAll(stage, link);
  expect(sent.result).toBe('inference-failed');
  expect(rowsOf(link).length).toBeLessThan(10);
  expect(stage.plane.inspection.workOf(stage.model)).toEqual({ waitingRequests: 0, runningRequests: 0 });
  expect(stage.lane.releases().every((releases) => releases === 1)).toBe(true);
});

test('cancelling a split request takes its parts out of the queue', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  const link = stage.worker(1);
  const sent = stage.send(upTo(80));
  await stage.turn();
  sent.cancellation.cancel('cancelled');
  await stage.turn();
  expect(sent.result).toBe('cancelled');
  expect(stage.plane.inspection.workOf(stage.model).waitingRequests).toBe(0);
  link.fails('cancelled', 'nobody waits for it');
  await stage.turn();
  expect(link.inFlight).toEqual([]);
});

test('the deadline of a split request holds for all of its parts', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  const link = stage.worker(1);
  const sent = stage.send(upTo(400), 50);
  await stage.turn();
  stage.clock.advance(60);
  await stage.turn();
  expect(sent.result).toBe('deadline-exceeded');
  expect(stage.plane.inspection.workOf(stage.model).waitingRequests).toBe(0);
  expect(link.inFlight.length).toBe(1);
});

test('texts of all parts are joined in order', async () => {
  const model = servedModel(
    [{ name: 'x', datatype: 'BYTES', shape: [-1, 2] }],
    [{ name: 'y', datatype: 'BYTES', shape: [-1, 2] }],
    { sharing: guessed },
  );
  const stage = new PlaneHarness({}, model);
  const link = stage.worker(1, 2);
  const data = encodeBytesElements(upTo(60).map((row) => `${row}`.padEnd(4 * (1 + (row % 3)), 'x')));
  const sent = stage.send([], undefined, { inputs: [{ name: 'x', datatype: 'BYTES', shape: [30, 2], data }] });
  await answerAll(stage, link);
  expect(sent.answer?.outputs[0]).toMatchObject({ shape: [30, 2], data });
});

test('a part without one row for each of its own fails the request with what to do', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  const link = stage.worker(1, 16);
  const request = stage.send(upTo(20));
  await stage.turn();
  while (link.inFlight.length > 0) link.answers([{ index: 0, shape: [1, 1], data: new Uint8Array(4) }]);
  await stage.turn();
  expect(request.result).toBe('inference-failed');
});

test('an ordered model runs a request of too many rows whole, so that later answers do not overtake it', async () => {
  const stage = new PlaneHarness({}, guessedModel({ isOrdered: true }));
  const link = stage.worker(1, 2);
  const large = stage.send(upTo(20));
  const small = stage.send([5]);
  await answerAll(stage, link);
  expect([large.result, small.result]).toEqual([`answered ${upTo(20).join(' ')}`, 'answered 5']);
  expect(rowsOf(link)).toEqual([20, 1]);
});

test('a written max_batch_size refuses more rows than it says, and a model with a guessed one none', async () => {
  const written = servedModel(
    [{ name: 'x', datatype: 'INT32', shape: [-1, 1] }],
    [{ name: 'y', datatype: 'INT32', shape: [-1, 1] }],
    { sharing: { ...guessed, isGuessed: false } },
  );
  const stage = new PlaneHarness({}, written);
  stage.worker(1);
  const sent = stage.send(upTo(9));
  await stage.turn();
  expect(sent.result).toBe('invalid-request');
});

test('a model that is retired finishes the parts of its split requests first', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  const link = stage.worker(1);
  const sent = stage.send(upTo(300));
  await stage.turn();
  stage.models.setAside(stage.model);
  let isRetired = false;
  void stage.plane.roster.retire(stage.model).then(() => {
    isRetired = true;
  });
  await answerAll(stage, link);
  await stage.turn();
  expect(sent.result).toBe(`answered ${upTo(300).join(' ')}`);
  expect(isRetired).toBe(true);
});

test('a caller that never cancels is answered in parts as well', async () => {
  const stage = new PlaneHarness({}, guessedModel());
  const link = stage.worker(1, 4);
  const data = new Uint8Array(Int32Array.from(upTo(30)).buffer);
  const request = inferRequest({
    id: 'mine',
    inputs: [{ name: 'x', datatype: 'INT32' as const, shape: [30, 1], data }],
  });
  const answer = stage.plane.inference.infer(request, neverCancelled);
  await answerAll(stage, link);
  expect(await answer).toMatchObject({ id: 'mine', model: 'm', version: '1', outputs: [{ name: 'y', data }] });
});

test('a request with very many texts is cut, run and joined in slices', async () => {
  const model = servedModel(
    [{ name: 'x', datatype: 'BYTES', shape: [-1, -1] }],
    [{ name: 'y', datatype: 'BYTES', shape: [-1, -1] }],
    { sharing: guessed },
    { queueBytesMax: 1e9 },
  );
  const stage = new PlaneHarness({}, model);
  const link = stage.worker(1);
  const [rows, columns] = [10, 20_000];
  const data = encodeBytesElements(Array.from({ length: rows * columns }, (_, index) => `${index}`.padStart(8, '0')));
  const sent = stage.send([], undefined, { inputs: [{ name: 'x', datatype: 'BYTES', shape: [rows, columns], data }] });
  await answerAll(stage, link);
  expect(sent.answer?.outputs[0]?.shape).toEqual([rows, columns]);
  expect(Buffer.compare(sent.answer?.outputs[0]?.data ?? new Uint8Array(), data)).toBe(0);
});

test('large outputs of parts are joined in slices, and a caller that gives up meanwhile is told', async () => {
  const tensor = { datatype: 'UINT8', shape: [-1, -1] } as const;
  const model = servedModel(
    [{ name: 'x', ...tensor }],
    [{ name: 'y', ...tensor }],
    { sharing: guessed },
    { queueBytesMax: 1e9 },
  );
  const stage = new PlaneHarness({}, model);
  const link = stage.worker(1);
  const [rows, columns] = [10, 2 ** 20];
  const data = new Uint8Array(rows * columns).map((_, index) => index >> 12);
  const inputs = [{ name: 'x', datatype: 'UINT8' as const, shape: [rows, columns], data }];
  const sent = stage.send([], undefined, { inputs });
  await answerAll(stage, link);
  await answerAll(stage, link);
  expect(Buffer.compare(sent.answer?.outputs[0]?.data ?? new Uint8Array(), data)).toBe(0);
  const left = stage.send([], undefined, { inputs });
  await stage.turn();
  link.answers();
  await new Promise((resolve) => setImmediate(resolve));
  expect(stage.plane.sliced.count).toBeGreaterThan(0);
  left.cancellation.cancel('cancelled');
  await answerAll(stage, link);
  await stage.turn();
  expect(left.result).toBe('cancelled');
  expect(stage.plane.sliced.count).toBe(0);
});
