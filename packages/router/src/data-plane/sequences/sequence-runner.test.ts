import { InferenceError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { inferRequest } from '../testing/requests.ts';
import { sequenceUnloadMsMax } from './sequence-runner.ts';
import { idProblem } from './step-tensors.ts';
import { dispatchedRows, SequencesHarness, sums, testSequencing } from './testing/sequences-harness.ts';

test('steps of different sequences share a batch, each with its own state and controls', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1);
  const first = [harness.step(1, 7n, 'start'), harness.step(10, 8n, 'start')];
  await harness.turn();
  expect(dispatchedRows(link.inFlight[0])).toEqual(['1 S-R on 0', '10 S-R on 0']);
  sums(link);
  await harness.turn();
  expect(first.map(({ result }) => result)).toEqual(['answered 1', 'answered 10']);
  const second = [harness.step(2, 7n), harness.step(20, 8n, 'end')];
  await harness.turn();
  expect(dispatchedRows(link.inFlight[0])).toEqual(['2 --R on 1', '20 -ER on 10']);
  sums(link);
  await harness.turn();
  expect(second.map(({ result }) => result)).toEqual(['answered 3', 'answered 30']);
  expect(harness.metric('millrace_sequences_live')).toBe(1);
  expect(harness.metric('millrace_sequence_state_bytes')).toBe(4);
  expect(harness.metric('millrace_sequences_ended_total', ',reason="ended"')).toBe(1);
});

test('the steps of one sequence run one after the other, however fast they arrive', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1, 2);
  const steps = [harness.step(1, 'a', 'start'), harness.step(2, 'a'), harness.step(3, 'a', 'end')];
  for (const row of ['1 S-R on 0', '2 --R on 1', '3 -ER on 3']) {
    await harness.turn();
    expect(link.inFlight.map(dispatchedRows)).toEqual([[row]]);
    sums(link);
    await harness.turn();
  }
  expect(steps.map(({ result }) => result)).toEqual(['answered 1', 'answered 3', 'answered 6']);
});

test('a step whose worker exits is run again on the same state', async () => {
  const harness = new SequencesHarness();
  const doomed = harness.worker(1);
  const first = harness.step(5, 'a', 'start');
  await harness.turn();
  sums(doomed);
  await first.outcome;
  const second = harness.step(6, 'a');
  await harness.turn();
  expect(dispatchedRows(doomed.inFlight[0])).toEqual(['6 --R on 5']);
  const other = harness.worker(2);
  doomed.dies();
  await harness.turn();
  expect(dispatchedRows(other.inFlight[0])).toEqual(['6 --R on 5']);
  sums(other);
  expect(await second.outcome).toBe('answered 11');
});

test('an answer is held until its reader is done, although its state was copied', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1);
  const step = harness.step(5, 'a', 'start');
  await harness.turn();
  sums(link);
  await step.outcome;
  expect(harness.lane.releases()).toEqual([1, 0]);
  step.answer?.release();
  expect(harness.lane.releases()).toEqual([1, 1]);
});

test('a client that requests outputs by name gets these and no state', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1);
  const step = harness.step(5, 'a', 'start', { outputs: ['y'] });
  await harness.turn();
  expect(link.inFlight[0]?.outputs).toEqual([0, 1]);
  sums(link);
  await step.outcome;
  expect(step.answer?.outputs.map(({ name }) => name)).toEqual(['y']);
});

async function refusalOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'answered';
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

test('a request that is no valid step of a sequence is refused with Triton\u2019s text', async () => {
  const harness = new SequencesHarness();
  const infer = (sequence: { id: bigint; isStart: boolean; isEnd: boolean } | undefined, rows: number) =>
    harness.plane.inference.infer(
      inferRequest({
        inputs: [{ name: 'x', datatype: 'INT32', shape: [rows, 1], data: new Uint8Array(4 * rows) }],
        sequence,
      }),
      harness.step(0, 'other', 'start').cancellation,
    );
  const step = { id: 7n, isStart: false, isEnd: false };
  expect(await refusalOf(infer(undefined, 1))).toBe(
    "invalid-request: inference request to model 'm' must specify a non-zero or non-empty correlation ID",
  );
  expect(await refusalOf(infer({ ...step, isStart: true }, 2))).toBe(
    "invalid-request: inference request to model 'm' must specify batch-size 1 due to requirements of sequence batcher",
  );
  expect(await refusalOf(infer(step, 1))).toBe(
    "invalid-request: inference request for sequence 7 to model 'm' must specify the START flag on the first request of the sequence",
  );
  expect(harness.metric('millrace_failures_total', ',code="invalid-request"')).toBe(3);
});

test('cancelling a running step ends its sequence and cancels the steps behind it', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1);
  const running = harness.step(1, 'a', 'start');
  const behind = harness.step(2, 'a');
  await harness.turn();
  running.cancellation.cancel('cancelled');
  await harness.turn();
  expect([running.result, behind.result]).toEqual(['cancelled', 'cancelled']);
  sums(link);
  const later = harness.step(3, 'a');
  await harness.turn();
  expect(later.result).toBe('invalid-request');
  expect(harness.metric('millrace_sequence_state_bytes')).toBe(0);
});

test('a failed step ends its sequence', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1);
  const step = harness.step(1, 'a', 'start');
  await harness.turn();
  link.fails('inference-failed', 'the model said no');
  await harness.turn();
  expect(step.result).toBe('inference-failed');
  expect(harness.metric('millrace_sequences_ended_total', ',reason="failed"')).toBe(1);
  expect(harness.metric('millrace_sequences_live')).toBe(0);
});

test('an idle sequence and its state are dropped by a timer', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1);
  const step = harness.step(1, 'a', 'start');
  await harness.turn();
  sums(link);
  await step.outcome;
  harness.clock.advance(999);
  expect(harness.metric('millrace_sequences_live')).toBe(1);
  harness.clock.advance(1);
  expect(harness.metric('millrace_sequences_live')).toBe(0);
  expect(harness.metric('millrace_sequence_state_bytes')).toBe(0);
});

test('a sequence without a slot waits, and no longer than its timeout', async () => {
  const harness = new SequencesHarness(testSequencing({ slotsMax: 1 }));
  const link = harness.worker(1);
  const first = harness.step(1, 'a', 'start');
  const patient = harness.step(2, 'b', 'start');
  const hasty = harness.step(3, 'c', 'start', { queueTimeoutMs: 50 });
  await harness.turn();
  expect(dispatchedRows(link.inFlight[0])).toEqual(['1 S-R on 0']);
  expect(harness.metric('millrace_sequences_waiting')).toBe(2);
  harness.clock.advance(50);
  await harness.turn();
  expect(hasty.result).toBe('queue-timeout');
  sums(link);
  await first.outcome;
  harness.clock.advance(1000);
  await harness.turn();
  sums(link);
  expect(await patient.outcome).toBe('answered 2');
});

test('onSlotWait is called for a step that waits for a slot, and for no other wait', () => {
  const harness = new SequencesHarness(testSequencing({ slotsMax: 1 }));
  harness.worker(1);
  const heard: string[] = [];
  const step = (id: string, isStart: boolean, name: string) => {
    const sequence = { id, isStart, isEnd: false, onSlotWait: () => heard.push(name) };
    harness.step(1, id, '', { sequence });
  };
  step('a', true, 'a runs');
  step('a', false, 'a waits for its turn');
  step('b', true, 'b waits');
  step('b', false, 'b waits too');
  step('c', false, 'c is refused');
  expect(heard).toEqual(['b waits', 'b waits too']);
});

test('a deadline passes while a step waits for the one before it', async () => {
  const harness = new SequencesHarness();
  harness.worker(1);
  const running = harness.step(1, 'a', 'start');
  const waiting = harness.step(2, 'a', '', { deadlineAt: harness.clock.now() + 20 });
  await harness.turn();
  harness.clock.advance(20);
  await harness.turn();
  expect([running.result, waiting.result]).toEqual([undefined, 'deadline-exceeded']);
});

test('a state that outgrows its limit ends its sequence with an error that names it', async () => {
  const harness = new SequencesHarness(testSequencing({}, 10));
  const link = harness.worker(1);
  const first = harness.step(1, 'a', 'start');
  await harness.turn();
  sums(link, 2);
  expect(await first.outcome).toBe('answered 1');
  const second = harness.step(1, 'a');
  await harness.turn();
  sums(link, 3);
  expect(await second.outcome).toBe('model-full');
  expect(harness.metric('millrace_sequence_state_bytes')).toBe(0);
  first.answer?.release();
  expect(harness.lane.releases()).toEqual([1, 1, 1, 1]);
});

test('a growing state takes memory from a caller that holds more, by ending its longest idle sequence', async () => {
  const harness = new SequencesHarness(testSequencing({}, 36));
  const link = harness.worker(1);
  const answer = async (width: number, id: string, flag: '' | 'start', caller: string) => {
    const step = harness.step(1, id, flag, { caller });
    await harness.turn();
    if (link.inFlight.length > 0) sums(link, width);
    return step.outcome;
  };
  expect(await answer(4, '1', 'start', 'large')).toBe('answered 1');
  expect(await answer(4, '2', 'start', 'large')).toBe('answered 1');
  expect(await answer(1, '1', 'start', 'small')).toBe('answered 1');
  expect(await answer(3, '1', '', 'small')).toBe('answered 2');
  expect(harness.metric('millrace_sequences_ended_total', ',reason="reclaimed"')).toBe(1);
  expect(harness.metric('millrace_sequence_state_bytes')).toBe(28);
  expect(await answer(4, '1', '', 'large')).toBe('invalid-request');
  // It is the larger owner now, so no other owner has to make room for it.
  expect(await answer(9, '2', '', 'large')).toBe('model-full');
});

test('the same id of two callers names two sequences with separate states', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1);
  const steps = [harness.step(1, 7n, 'start', { caller: 'a' }), harness.step(10, 7n, 'start', { caller: 'b' })];
  await harness.turn();
  sums(link);
  await harness.turn();
  const second = [harness.step(2, 7n, '', { caller: 'a' }), harness.step(20, 7n, '', { caller: 'b' })];
  const stranger = harness.step(100, 7n, '', { caller: 'c' });
  await harness.turn();
  expect(dispatchedRows(link.inFlight[0])).toEqual(['2 --R on 1', '20 --R on 10']);
  sums(link);
  await harness.turn();
  expect([...steps, ...second, stranger].map(({ result }) => result)).toEqual([
    'answered 1',
    'answered 10',
    'answered 3',
    'answered 30',
    'invalid-request',
  ]);
});

test('a sequence that gets no slot is refused when its wait times out', async () => {
  const harness = new SequencesHarness(testSequencing({ slotsMax: 1, slotWaitMsMax: 500 }));
  harness.worker(1);
  const holder = harness.step(1, 'a', 'start');
  const waiting = harness.step(2, 'b', 'start');
  await harness.turn();
  harness.clock.advance(500);
  await harness.turn();
  expect([holder.result, waiting.result]).toEqual([undefined, 'queue-timeout']);
});

test('a retiring model finishes its live sequences and starts none', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1);
  const first = harness.step(1, 'a', 'start');
  await harness.turn();
  sums(link);
  await first.outcome;
  let isRetired = false;
  const retired = harness.plane.roster.retire(harness.model).then(() => {
    isRetired = true;
  });
  const fresh = harness.step(5, 'b', 'start');
  const last = harness.step(2, 'a', 'end');
  await harness.turn();
  expect(fresh.result).toBe('model-not-ready');
  expect(isRetired).toBe(false);
  sums(link);
  expect(await last.outcome).toBe('answered 3');
  await harness.turn();
  await harness.turn();
  await retired;
  expect(isRetired).toBe(true);
});

test('a model that is added again while it retires starts sequences again', async () => {
  const harness = new SequencesHarness();
  const link = harness.worker(1);
  const first = harness.step(1, 'a', 'start');
  await harness.turn();
  sums(link);
  await first.outcome;
  expect(harness.plane.roster.isInUse(harness.model)).toBe(true);
  let isRetired = false;
  void harness.plane.roster.retire(harness.model).then(() => {
    isRetired = true;
  });
  harness.plane.roster.add(harness.model);
  const fresh = harness.step(5, 'b', 'start');
  const last = harness.step(2, 'a', 'end');
  await harness.turn();
  sums(link);
  await harness.turn();
  expect([fresh.result, last.result, isRetired]).toEqual(['answered 5', 'answered 3', false]);
});

test('a sequence that lasts longer than sequenceUnloadMsMax is ended by the unload', async () => {
  const harness = new SequencesHarness(testSequencing({ idleMsMax: 1e9 }));
  const link = harness.worker(1);
  const first = harness.step(1, 'a', 'start');
  await harness.turn();
  sums(link);
  await first.outcome;
  const retired = harness.plane.roster.retire(harness.model);
  harness.clock.advance(sequenceUnloadMsMax);
  await harness.turn();
  await harness.turn();
  await retired;
  expect(harness.metric('millrace_sequences_ended_total', ',reason="unloaded"')).toBe(1);
});

test('a step that still waits when the unload ends its sequence is told so, and not that its caller cancelled it', async () => {
  const harness = new SequencesHarness(testSequencing({ idleMsMax: 1e9 }));
  const waiting = harness.step(1, 'a', 'start');
  await harness.turn();
  const retired = harness.plane.roster.retire(harness.model);
  harness.clock.advance(sequenceUnloadMsMax);
  await harness.turn();
  await harness.turn();
  await retired;
  expect(waiting.result).toBe('model-not-ready');
});

test.each([
  ['UINT64', 2n ** 64n - 1n, undefined],
  ['INT64', 2n ** 63n, /up to 9223372036854775807 \(INT64\); choose a smaller one/],
  ['UINT32', 2n ** 32n, /up to 4294967295/],
  ['INT32', 2n ** 31n - 1n, undefined],
  ['INT32', 2n ** 31n, /up to 2147483647/],
  ['UINT64', 'a', /takes a number as correlation ID \(UINT64\), not a string/],
  ['BYTES', 'a', undefined],
  ['BYTES', 1n, /takes a string as correlation ID, not a number/],
] as const)('a model whose correlation id is %s takes %s, or the error says why not', (datatype, id, message) => {
  const sequencing = testSequencing();
  const control = { kind: 'correlation-id', spec: { name: 'ID', datatype, shape: [-1, 1] } } as const;
  const problem = idProblem({ ...sequencing, controls: [control] }, id);
  if (message === undefined) expect(problem).toBeUndefined();
  else expect(problem).toMatch(message);
});
