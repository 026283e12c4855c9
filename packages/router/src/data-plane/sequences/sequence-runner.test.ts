import { InferenceError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { inferRequest } from '../testing/requests.ts';
import { sequenceUnloadMsMax } from './sequence-runner.ts';
import { idProblem } from './step-tensors.ts';
import { dispatchedRows, SequencesHarness, sums, testSequencing } from './testing/sequences-harness.ts';

test('steps of different sequences share a batch, each with its own state and controls', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1);
  const first = [stage.step(1, 7n, 'start'), stage.step(10, 8n, 'start')];
  await stage.turn();
  expect(dispatchedRows(link.inFlight[0])).toEqual(['1 S-R on 0', '10 S-R on 0']);
  sums(link);
  await stage.turn();
  expect(first.map(({ result }) => result)).toEqual(['answered 1', 'answered 10']);
  const second = [stage.step(2, 7n), stage.step(20, 8n, 'end')];
  await stage.turn();
  expect(dispatchedRows(link.inFlight[0])).toEqual(['2 --R on 1', '20 -ER on 10']);
  sums(link);
  await stage.turn();
  expect(second.map(({ result }) => result)).toEqual(['answered 3', 'answered 30']);
  expect(stage.metric('millrace_sequences_live')).toBe(1);
  expect(stage.metric('millrace_sequence_state_bytes')).toBe(4);
  expect(stage.metric('millrace_sequences_ended_total', ',reason="ended"')).toBe(1);
});

test('the steps of one sequence run one after the other, however fast they come', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1, 2);
  const steps = [stage.step(1, 'a', 'start'), stage.step(2, 'a'), stage.step(3, 'a', 'end')];
  for (const row of ['1 S-R on 0', '2 --R on 1', '3 -ER on 3']) {
    await stage.turn();
    expect(link.inFlight.map(dispatchedRows)).toEqual([[row]]);
    sums(link);
    await stage.turn();
  }
  expect(steps.map(({ result }) => result)).toEqual(['answered 1', 'answered 3', 'answered 6']);
});

test('a worker that dies costs a sequence nothing: its step is run again on the same state', async () => {
  const stage = new SequencesHarness();
  const doomed = stage.worker(1);
  const first = stage.step(5, 'a', 'start');
  await stage.turn();
  sums(doomed);
  await first.outcome;
  const second = stage.step(6, 'a');
  await stage.turn();
  expect(dispatchedRows(doomed.inFlight[0])).toEqual(['6 --R on 5']);
  const other = stage.worker(2);
  doomed.dies();
  await stage.turn();
  expect(dispatchedRows(other.inFlight[0])).toEqual(['6 --R on 5']);
  sums(other);
  expect(await second.outcome).toBe('answered 11');
});

test('an answer is kept until its reader is done, although its state was taken', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1);
  const step = stage.step(5, 'a', 'start');
  await stage.turn();
  sums(link);
  await step.outcome;
  expect(stage.lane.releases()).toEqual([1, 0]);
  step.answer?.release();
  expect(stage.lane.releases()).toEqual([1, 1]);
});

test('a client that asks for outputs by name gets these and no state', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1);
  const step = stage.step(5, 'a', 'start', { outputs: ['y'] });
  await stage.turn();
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

test('what is no step of a sequence is refused in the words of Triton', async () => {
  const stage = new SequencesHarness();
  const infer = (sequence: { id: bigint; isStart: boolean; isEnd: boolean } | undefined, rows: number) =>
    stage.plane.inference.infer(
      inferRequest({
        inputs: [{ name: 'x', datatype: 'INT32', shape: [rows, 1], data: new Uint8Array(4 * rows) }],
        sequence,
      }),
      stage.step(0, 'other', 'start').cancellation,
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
  expect(stage.metric('millrace_failures_total', ',code="invalid-request"')).toBe(3);
});

test('cancelling a step that runs ends its sequence and those behind it', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1);
  const running = stage.step(1, 'a', 'start');
  const behind = stage.step(2, 'a');
  await stage.turn();
  running.cancellation.cancel('cancelled');
  await stage.turn();
  expect([running.result, behind.result]).toEqual(['cancelled', 'cancelled']);
  sums(link);
  const later = stage.step(3, 'a');
  await stage.turn();
  expect(later.result).toBe('invalid-request');
  expect(stage.metric('millrace_sequence_state_bytes')).toBe(0);
});

test('a failed step ends its sequence', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1);
  const step = stage.step(1, 'a', 'start');
  await stage.turn();
  link.fails('inference-failed', 'the model said no');
  await stage.turn();
  expect(step.result).toBe('inference-failed');
  expect(stage.metric('millrace_sequences_ended_total', ',reason="failed"')).toBe(1);
  expect(stage.metric('millrace_sequences_live')).toBe(0);
});

test('an idle sequence is forgotten by a timer, with its state', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1);
  const step = stage.step(1, 'a', 'start');
  await stage.turn();
  sums(link);
  await step.outcome;
  stage.clock.advance(999);
  expect(stage.metric('millrace_sequences_live')).toBe(1);
  stage.clock.advance(1);
  expect(stage.metric('millrace_sequences_live')).toBe(0);
  expect(stage.metric('millrace_sequence_state_bytes')).toBe(0);
});

test('a sequence without a slot waits, and no longer than its timeout', async () => {
  const stage = new SequencesHarness(testSequencing({ slotsMax: 1 }));
  const link = stage.worker(1);
  const first = stage.step(1, 'a', 'start');
  const patient = stage.step(2, 'b', 'start');
  const hasty = stage.step(3, 'c', 'start', { queueTimeoutMs: 50 });
  await stage.turn();
  expect(dispatchedRows(link.inFlight[0])).toEqual(['1 S-R on 0']);
  expect(stage.metric('millrace_sequences_waiting')).toBe(2);
  stage.clock.advance(50);
  await stage.turn();
  expect(hasty.result).toBe('queue-timeout');
  sums(link);
  await first.outcome;
  stage.clock.advance(1000);
  await stage.turn();
  sums(link);
  expect(await patient.outcome).toBe('answered 2');
});

test('whoever asked hears that a step waits for a slot, and of no other wait', () => {
  const stage = new SequencesHarness(testSequencing({ slotsMax: 1 }));
  stage.worker(1);
  const heard: string[] = [];
  const step = (id: string, isStart: boolean, name: string) => {
    const sequence = { id, isStart, isEnd: false, onSlotWait: () => heard.push(name) };
    stage.step(1, id, '', { sequence });
  };
  step('a', true, 'a runs');
  step('a', false, 'a waits for its turn');
  step('b', true, 'b waits');
  step('b', false, 'b waits too');
  step('c', false, 'c is refused');
  expect(heard).toEqual(['b waits', 'b waits too']);
});

test('a deadline passes while a step waits for the one before it', async () => {
  const stage = new SequencesHarness();
  stage.worker(1);
  const running = stage.step(1, 'a', 'start');
  const waiting = stage.step(2, 'a', '', { deadlineAt: stage.clock.now() + 20 });
  await stage.turn();
  stage.clock.advance(20);
  await stage.turn();
  expect([running.result, waiting.result]).toEqual([undefined, 'deadline-exceeded']);
});

test('a state that outgrows its limit ends its sequence by name', async () => {
  const stage = new SequencesHarness(testSequencing({}, 10));
  const link = stage.worker(1);
  const first = stage.step(1, 'a', 'start');
  await stage.turn();
  sums(link, 2);
  expect(await first.outcome).toBe('answered 1');
  const second = stage.step(1, 'a');
  await stage.turn();
  sums(link, 3);
  expect(await second.outcome).toBe('model-full');
  expect(stage.metric('millrace_sequence_state_bytes')).toBe(0);
  first.answer?.release();
  expect(stage.lane.releases()).toEqual([1, 1, 1, 1]);
});

test('a state that grows takes the room of a caller that has more, from its longest idle sequence', async () => {
  const stage = new SequencesHarness(testSequencing({}, 36));
  const link = stage.worker(1);
  const answer = async (width: number, id: string, flag: '' | 'start', caller: string) => {
    const step = stage.step(1, id, flag, { caller });
    await stage.turn();
    if (link.inFlight.length > 0) sums(link, width);
    return step.outcome;
  };
  expect(await answer(4, '1', 'start', 'large')).toBe('answered 1');
  expect(await answer(4, '2', 'start', 'large')).toBe('answered 1');
  expect(await answer(1, '1', 'start', 'small')).toBe('answered 1');
  expect(await answer(3, '1', '', 'small')).toBe('answered 2');
  expect(stage.metric('millrace_sequences_ended_total', ',reason="reclaimed"')).toBe(1);
  expect(stage.metric('millrace_sequence_state_bytes')).toBe(28);
  expect(await answer(4, '1', '', 'large')).toBe('invalid-request');
  // It is the larger one now, and nobody has to make room for it.
  expect(await answer(9, '2', '', 'large')).toBe('model-full');
});

test('the same id of two callers is two sequences with states of their own', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1);
  const steps = [stage.step(1, 7n, 'start', { caller: 'a' }), stage.step(10, 7n, 'start', { caller: 'b' })];
  await stage.turn();
  sums(link);
  await stage.turn();
  const second = [stage.step(2, 7n, '', { caller: 'a' }), stage.step(20, 7n, '', { caller: 'b' })];
  const stranger = stage.step(100, 7n, '', { caller: 'c' });
  await stage.turn();
  expect(dispatchedRows(link.inFlight[0])).toEqual(['2 --R on 1', '20 --R on 10']);
  sums(link);
  await stage.turn();
  expect([...steps, ...second, stranger].map(({ result }) => result)).toEqual([
    'answered 1',
    'answered 10',
    'answered 3',
    'answered 30',
    'invalid-request',
  ]);
});

test('a sequence that gets no slot is refused when the wait is over', async () => {
  const stage = new SequencesHarness(testSequencing({ slotsMax: 1, slotWaitMsMax: 500 }));
  stage.worker(1);
  const holder = stage.step(1, 'a', 'start');
  const waiting = stage.step(2, 'b', 'start');
  await stage.turn();
  stage.clock.advance(500);
  await stage.turn();
  expect([holder.result, waiting.result]).toEqual([undefined, 'queue-timeout']);
});

test('a model that is retired finishes the sequences that live and begins none', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1);
  const first = stage.step(1, 'a', 'start');
  await stage.turn();
  sums(link);
  await first.outcome;
  let isRetired = false;
  const retired = stage.plane.roster.retire(stage.model).then(() => {
    isRetired = true;
  });
  const fresh = stage.step(5, 'b', 'start');
  const last = stage.step(2, 'a', 'end');
  await stage.turn();
  expect(fresh.result).toBe('model-not-ready');
  expect(isRetired).toBe(false);
  sums(link);
  expect(await last.outcome).toBe('answered 3');
  await stage.turn();
  await stage.turn();
  await retired;
  expect(isRetired).toBe(true);
});

test('a model that is taken back while it closes begins sequences again', async () => {
  const stage = new SequencesHarness();
  const link = stage.worker(1);
  const first = stage.step(1, 'a', 'start');
  await stage.turn();
  sums(link);
  await first.outcome;
  expect(stage.plane.roster.isInUse(stage.model)).toBe(true);
  let isRetired = false;
  void stage.plane.roster.retire(stage.model).then(() => {
    isRetired = true;
  });
  stage.plane.roster.add(stage.model);
  const fresh = stage.step(5, 'b', 'start');
  const last = stage.step(2, 'a', 'end');
  await stage.turn();
  sums(link);
  await stage.turn();
  expect([fresh.result, last.result, isRetired]).toEqual(['answered 5', 'answered 3', false]);
});

test('a sequence that goes on for too long is ended by the unload', async () => {
  const stage = new SequencesHarness(testSequencing({ idleMsMax: 1e9 }));
  const link = stage.worker(1);
  const first = stage.step(1, 'a', 'start');
  await stage.turn();
  sums(link);
  await first.outcome;
  const retired = stage.plane.roster.retire(stage.model);
  stage.clock.advance(sequenceUnloadMsMax);
  await stage.turn();
  await stage.turn();
  await retired;
  expect(stage.metric('millrace_sequences_ended_total', ',reason="unloaded"')).toBe(1);
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
] as const)('a model whose correlation id is %s is told %s', (datatype, id, words) => {
  const sequencing = testSequencing();
  const control = { kind: 'correlation-id', spec: { name: 'ID', datatype, shape: [-1, 1] } } as const;
  const problem = idProblem({ ...sequencing, controls: [control] }, id);
  if (words === undefined) expect(problem).toBeUndefined();
  else expect(problem).toMatch(words);
});
