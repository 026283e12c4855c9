import { copyOf, encodeBytesElements, neverCancelled } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { showState } from '../../catalogue/testing/show-state.ts';
import type { RunSharing } from '../../model/run-sharing.ts';
import { systemClock } from '../clock.ts';
import type { InferAnswer } from '../infer.ts';
import type { ServedModel } from '../served-model.ts';
import { SlicedWork } from '../sliced-work/sliced-work.ts';
import { servedModel } from '../testing/models.ts';
import { PlaneHarness } from '../testing/plane-harness.ts';
import { inferRequest } from '../testing/requests.ts';
import type { ScriptedLink } from '../testing/scripted-lane.ts';
import { ValidInferRequest } from '../valid-request.ts';
import { SplitRunner, splitAnswerBytesMax, splitPartsAtOnceMax, splitPartsMax } from './split-runner.ts';

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

/** Lets the worker answer every batch, until none is in flight any more. */
async function answerAll(harness: PlaneHarness, link: ScriptedLink): Promise<void> {
  for (let turns = 0; turns < 10_000; turns++) {
    await harness.turn();
    if (link.inFlight.length === 0) return;
    while (link.inFlight.length > 0) link.answers();
  }
  throw new Error('the worker was never idle');
}

const rowsOf = (link: ScriptedLink): (number | undefined)[] =>
  link.sent.flatMap((message) => (message.kind === 'dispatch' ? [message.inputs[0]?.shape[0]] : []));

test('a request with more rows than a batch may have is answered in parts, with its rows in order', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  const link = harness.worker(1, 2);
  const sent = harness.send(upTo(1000));
  await answerAll(harness, link);
  expect(sent.result).toBe(`answered ${upTo(1000).join(' ')}`);
  expect(sent.answer?.outputs[0]?.shape).toEqual([1000, 1]);
  expect(rowsOf(link)).toEqual(Array.from({ length: 125 }, () => 8));
  expect(harness.lane.releases().every((releases) => releases === 1)).toBe(true);
});

test('parts share batches with the requests of others, which wait for a few parts only', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  const link = harness.worker(1);
  const large = harness.send(upTo(403), undefined, { caller: 'large' });
  const small = harness.send([7000], undefined, { caller: 'small' });
  await harness.turn();
  for (let batches = 0; small.result === undefined && batches < 4; batches++) {
    link.answers();
    await harness.turn();
  }
  expect(small.result).toBe('answered 7000');
  expect(large.result).toBe(undefined);
  await answerAll(harness, link);
  expect(large.result).toBe(`answered ${upTo(403).join(' ')}`);
});

test('a request has no more parts in the queue at once than splitPartsAtOnceMax', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  harness.send(upTo(8 * (splitPartsAtOnceMax + 5)));
  await harness.turn();
  expect(harness.plane.inspection.workOf(harness.model).waitingRequests).toBe(splitPartsAtOnceMax);
});

test('a request with more rows than splitPartsMax batches is cut into larger parts, which run alone', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  const link = harness.worker(1, 2);
  const rows = 8 * splitPartsMax + 1;
  const sent = harness.send(upTo(rows));
  await answerAll(harness, link);
  expect(sent.result).toBe(`answered ${upTo(rows).join(' ')}`);
  expect(new Set(rowsOf(link))).toEqual(new Set([9, rows % 9]));
});

test('a queue with a limit below the number of parts takes them one after the other', async () => {
  const harness = new PlaneHarness({}, guessedModel({ queueRequestsMax: 1 }));
  const link = harness.worker(1);
  const sent = harness.send(upTo(100));
  await answerAll(harness, link);
  expect(sent.result).toBe(`answered ${upTo(100).join(' ')}`);
});

test('a request with more bytes than the queue may hold is refused like any other', async () => {
  const harness = new PlaneHarness({}, guessedModel({ queueBytesMax: 100 }));
  harness.worker(1);
  const [small, large] = [harness.send(upTo(25)), harness.send(upTo(26))];
  await harness.turn();
  expect([small.result, large.result]).toEqual([undefined, 'request-too-large']);
});

test('a failing part ends the request with its error, once, and the other parts are cancelled', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  const link = harness.worker(1, 3);
  const sent = harness.send(upTo(80));
  await harness.turn();
  link.answers();
  link.fails('inference-failed', 'index 9 is out of range');
  await answerAll(harness, link);
  expect(sent.result).toBe('inference-failed');
  expect(rowsOf(link).length).toBeLessThan(10);
  expect(harness.plane.inspection.workOf(harness.model)).toEqual({ waitingRequests: 0, runningRequests: 0 });
  expect(harness.lane.releases().every((releases) => releases === 1)).toBe(true);
});

test('cancelling a split request removes its parts from the queue', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  const link = harness.worker(1);
  const sent = harness.send(upTo(80));
  await harness.turn();
  sent.cancellation.cancel('cancelled');
  await harness.turn();
  expect(sent.result).toBe('cancelled');
  expect(harness.plane.inspection.workOf(harness.model).waitingRequests).toBe(0);
  link.fails('cancelled', 'nobody waits for it');
  await harness.turn();
  expect(link.inFlight).toEqual([]);
});

test('the deadline of a split request applies to all of its parts', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  const link = harness.worker(1);
  const sent = harness.send(upTo(400), 50);
  await harness.turn();
  harness.clock.advance(60);
  await harness.turn();
  expect(sent.result).toBe('deadline-exceeded');
  expect(harness.plane.inspection.workOf(harness.model).waitingRequests).toBe(0);
  expect(link.inFlight.length).toBe(1);
});

test('texts of all parts are joined in order', async () => {
  const model = servedModel(
    [{ name: 'x', datatype: 'BYTES', shape: [-1, 2] }],
    [{ name: 'y', datatype: 'BYTES', shape: [-1, 2] }],
    { sharing: guessed },
  );
  const harness = new PlaneHarness({}, model);
  const link = harness.worker(1, 2);
  const data = encodeBytesElements(upTo(60).map((row) => `${row}`.padEnd(4 * (1 + (row % 3)), 'x')));
  const sent = harness.send([], undefined, {
    inputs: [{ name: 'x', datatype: 'BYTES', shape: [30, 2], data: copyOf(data) }],
  });
  await answerAll(harness, link);
  expect(sent.answer?.outputs[0]).toMatchObject({ shape: [30, 2], data });
});

test('a part whose answer has another number of rows fails the request with an error that says what to change', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  const link = harness.worker(1, 16);
  const request = harness.send(upTo(20));
  await harness.turn();
  while (link.inFlight.length > 0) link.answers([{ index: 0, shape: [1, 1], data: new Uint8Array(4) }]);
  await harness.turn();
  expect(request.result).toBe('inference-failed');
});

test('an ordered model runs a request of too many rows whole, so that later answers do not overtake it', async () => {
  const harness = new PlaneHarness({}, guessedModel({ isOrdered: true }));
  const link = harness.worker(1, 2);
  const large = harness.send(upTo(20));
  const small = harness.send([5]);
  await answerAll(harness, link);
  expect([large.result, small.result]).toEqual([`answered ${upTo(20).join(' ')}`, 'answered 5']);
  expect(rowsOf(link)).toEqual([20, 1]);
});

test('a configured max_batch_size limits the rows of a request, and a guessed one does not', async () => {
  const written = servedModel(
    [{ name: 'x', datatype: 'INT32', shape: [-1, 1] }],
    [{ name: 'y', datatype: 'INT32', shape: [-1, 1] }],
    { sharing: { ...guessed, isGuessed: false } },
  );
  const harness = new PlaneHarness({}, written);
  harness.worker(1);
  const sent = harness.send(upTo(9));
  await harness.turn();
  expect(sent.result).toBe('invalid-request');
});

test('a retiring model finishes the parts of its split requests first', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  const link = harness.worker(1);
  const sent = harness.send(upTo(300));
  await harness.turn();
  showState(harness.models, harness.model, { state: 'evicted' });
  let isRetired = false;
  void harness.plane.roster.retire(harness.model).then(() => {
    isRetired = true;
  });
  await answerAll(harness, link);
  await harness.turn();
  expect(sent.result).toBe(`answered ${upTo(300).join(' ')}`);
  expect(isRetired).toBe(true);
});

test('a caller that never cancels is answered in parts as well', async () => {
  const harness = new PlaneHarness({}, guessedModel());
  const link = harness.worker(1, 4);
  const data = new Uint8Array(Int32Array.from(upTo(30)).buffer);
  const request = inferRequest({
    id: 'mine',
    inputs: [{ name: 'x', datatype: 'INT32' as const, shape: [30, 1], data }],
  });
  const answer = harness.plane.inference.infer(request, neverCancelled);
  await answerAll(harness, link);
  expect(await answer).toMatchObject({ id: 'mine', model: 'm', version: '1', outputs: [{ name: 'y', data }] });
});

test('a request with very many texts is split, run and joined in slices', async () => {
  const model = servedModel(
    [{ name: 'x', datatype: 'BYTES', shape: [-1, -1] }],
    [{ name: 'y', datatype: 'BYTES', shape: [-1, -1] }],
    { sharing: guessed },
    { queueBytesMax: 1e9 },
  );
  const harness = new PlaneHarness({}, model);
  const link = harness.worker(1);
  const [rows, columns] = [10, 20_000];
  const data = encodeBytesElements(Array.from({ length: rows * columns }, (_, index) => `${index}`.padStart(8, '0')));
  const sent = harness.send([], undefined, {
    inputs: [{ name: 'x', datatype: 'BYTES', shape: [rows, columns], data: copyOf(data) }],
  });
  await answerAll(harness, link);
  expect(sent.answer?.outputs[0]?.shape).toEqual([rows, columns]);
  expect(Buffer.compare(sent.answer?.outputs[0]?.data ?? new Uint8Array(), data)).toBe(0);
});

describe('an answer that is longer than that of one run may be', () => {
  const rowsOfPart = 8;
  const tooLong = { code: 'unsupported', message: expect.stringMatching(/send fewer rows in a request/) };

  /** Answers each part with this output for each of its rows. */
  function answersWith(datatype: 'UINT8' | 'BYTES', row: Uint8Array, answerBytesMax?: number) {
    const model = servedModel(
      [{ name: 'x', datatype: 'INT32', shape: [-1, 1] }],
      [{ name: 'y', datatype, shape: [-1, -1] }],
      { sharing: guessed },
    );
    const released: number[] = [];
    const enqueue = async ({ rows }: ValidInferRequest): Promise<InferAnswer> => {
      const data = new Uint8Array(row.length * rows);
      for (let at = 0; at < rows; at++) data.set(row, at * row.length);
      const columns = datatype === 'BYTES' ? 1 : row.length;
      const outputs = [{ name: 'y', datatype, shape: [rows, columns], data }];
      return { model: 'm', version: '1', id: '', outputs, release: () => void released.push(rows) };
    };
    const runner = new SplitRunner(enqueue, new SlicedWork(systemClock), answerBytesMax);
    const run = (rows: number): Promise<InferAnswer> => {
      const data = new Uint8Array(4 * rows);
      const inputs = [{ name: 'x', datatype: 'INT32' as const, shape: [rows, 1], data }];
      return runner.run(ValidInferRequest.from(inferRequest({ inputs }), model), neverCancelled);
    };
    return { run, released };
  }

  test('is refused before there is memory for it', async () => {
    const { run, released } = answersWith('UINT8', new Uint8Array(2 ** 20));
    // More than any array may have.
    await expect(run(2 ** 14)).rejects.toMatchObject(tooLong);
    await expect(run(splitAnswerBytesMax / 2 ** 20 + 1)).rejects.toMatchObject(tooLong);
    expect(released.length).toBeGreaterThan(0);
    expect(new Set(released)).toEqual(new Set([16, rowsOfPart]));
  });

  test('is refused as soon as its texts are too many', async () => {
    const text = encodeBytesElements(['eight ch']);
    const { run } = answersWith('BYTES', text, 4 * rowsOfPart * text.length);
    expect((await run(4 * rowsOfPart)).outputs[0]?.data.length).toBe(4 * rowsOfPart * text.length);
    await expect(run(4 * rowsOfPart + 1)).rejects.toMatchObject(tooLong);
  });
});

test('large outputs of parts are joined in slices, and a caller that cancels meanwhile is rejected', async () => {
  const tensor = { datatype: 'UINT8', shape: [-1, -1] } as const;
  const model = servedModel(
    [{ name: 'x', ...tensor }],
    [{ name: 'y', ...tensor }],
    { sharing: guessed },
    { queueBytesMax: 1e9 },
  );
  const harness = new PlaneHarness({}, model);
  const link = harness.worker(1);
  const [rows, columns] = [10, 2 ** 20];
  const data = new Uint8Array(rows * columns).map((_, index) => index >> 12);
  const inputs = [{ name: 'x', datatype: 'UINT8' as const, shape: [rows, columns], data: copyOf(data) }];
  const sent = harness.send([], undefined, { inputs });
  await answerAll(harness, link);
  await answerAll(harness, link);
  expect(Buffer.compare(sent.answer?.outputs[0]?.data ?? new Uint8Array(), data)).toBe(0);
  const left = harness.send([], undefined, { inputs });
  await harness.turn();
  link.answers();
  await new Promise((resolve) => setImmediate(resolve));
  expect(harness.plane.sliced.count).toBeGreaterThan(0);
  left.cancellation.cancel('cancelled');
  await answerAll(harness, link);
  await harness.turn();
  expect(left.result).toBe('cancelled');
  expect(harness.plane.sliced.count).toBe(0);
});
