import { expect, test } from 'vitest';
import { resolveTestPolicy, Story } from './testing/story.ts';

test('a step runs at once, the next one when it is answered', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start').arrives(2, 'a').arrives(3, 'a', 'end');
  expect(story.take()).toEqual(['run 1 of #1 anew']);
  expect(story.answered(1).take()).toEqual(['run 2 of #1']);
  expect(story.answered(2).take()).toEqual(['run 3 of #1']);
  expect(story.answered(3).take()).toEqual(['forget #1: ended']);
});

test('sequences run beside each other; a number and its digits are different ids', () => {
  const story = new Story();
  expect(story.arrives(1, 7n, 'start').arrives(2, '7', 'start').take()).toEqual([
    'run 1 of #1 anew',
    'run 2 of #2 anew',
  ]);
});

test('a first step that does not start is refused with the message of Triton', () => {
  const story = new Story();
  expect(story.arrives(1, 7n).take()).toEqual(['refuse 1: invalid-request']);
  expect(story.messages).toEqual([
    "inference request for sequence 7 to model 'm' must specify the START flag on the first request of the sequence",
  ]);
});

test('a refusal does not repeat a long id', () => {
  const story = new Story();
  story.arrives(1, 'x'.repeat(60_000)).take();
  expect(story.messages[0]?.length).toBeLessThan(500);
});

test('a sequence that has begun anew elsewhere accepts no step, and ends with those that it has', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start', { owner: 'o' }).arrives(2, 'a', '', { owner: 'o' }).take();
  expect(story.begunElsewhere('o', 'a').take()).toEqual([]);
  expect(story.answered(1).answered(2).take()).toEqual(['run 2 of #1', 'forget #1: ended']);
  expect(story.arrives(3, 'a', '', { owner: 'o' }).take()).toEqual(['refuse 3: invalid-request']);
});

test('a start in the middle begins anew, after what came before it', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start').arrives(2, 'a').arrives(3, 'a', 'start');
  expect(story.answered(1).answered(2).take()).toEqual(['run 1 of #1 anew', 'run 2 of #1', 'run 3 of #1 anew']);
});

test('after its end an id begins a new sequence, also while the old one still runs', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start').arrives(2, 'a', 'end').arrives(3, 'a', 'start');
  expect(story.take()).toEqual(['run 1 of #1 anew', 'run 3 of #2 anew']);
  expect(story.answered(1).answered(2).take()).toEqual(['run 2 of #1', 'forget #1: ended']);
  expect(story.arrives(4, 'a', 'end').answered(3).answered(4).take()).toEqual(['run 4 of #2', 'forget #2: ended']);
});

test('sequences beyond the slots wait in order of arrival and take the first that is free', () => {
  const story = new Story({ slotsMax: 1 });
  story.arrives(1, 'a', 'start').arrives(2, 'b', 'start').arrives(3, 'c', 'start').arrives(4, 'b', 'end');
  expect(story.take()).toEqual(['run 1 of #1 anew']);
  expect(story.counts()).toMatchObject({ liveSequences: 1, backlogSequences: 2, waitingSteps: 3 });
  story.arrives(5, 'a', 'end');
  // The fifth waits for the one before it, which is another matter.
  expect([1, 2, 3, 4, 5].map((step) => story.waitsForSlot(step))).toEqual([false, true, true, true, false]);
  story.answered(1).answered(5);
  expect([1, 2, 3, 4, 5].map((step) => story.waitsForSlot(step))).toEqual([false, false, true, false, false]);
  expect(story.take()).toEqual(['run 5 of #1', 'forget #1: ended', 'run 2 of #2 anew']);
  expect(story.answered(2).answered(4).take()).toEqual(['run 4 of #2', 'forget #2: ended', 'run 3 of #3 anew']);
});

test('the backlog, the steps and the bytes that wait have a maximum', () => {
  const backlog = new Story({ slotsMax: 1, backlogSequencesMax: 1 });
  backlog.arrives(1, 'a', 'start').arrives(2, 'b', 'start').arrives(3, 'c', 'start');
  expect(backlog.take()).toEqual(['run 1 of #1 anew', 'refuse 3: model-full']);
  const steps = new Story({ waitingStepsMax: 1 });
  steps.arrives(1, 'a', 'start').arrives(2, 'a').arrives(3, 'a');
  expect(steps.take()).toEqual(['run 1 of #1 anew', 'refuse 3: model-full']);
  const bytes = new Story({ waitingBytesMax: 10 });
  bytes.arrives(1, 'a', 'start', { bytes: 99 }).arrives(2, 'a', '', { bytes: 11 });
  expect(bytes.take()).toEqual(['run 1 of #1 anew', 'refuse 2: model-full']);
});

test('a sequence of which a step was refused ends when the steps before it have', () => {
  const story = new Story({ waitingStepsMax: 1 });
  story.arrives(1, 'a', 'start').arrives(2, 'a').arrives(3, 'a');
  story.take();
  expect(story.arrives(4, 'a').take()).toEqual(['refuse 4: invalid-request']);
  expect(story.answered(1).answered(2).take()).toEqual(['run 2 of #1', 'forget #1: failed']);
});

test('a step that fails fails those behind it, up to the next start', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start').arrives(2, 'a').arrives(3, 'a').arrives(4, 'a', 'start');
  story.answered(1).take();
  expect(story.failed(2, 'inference-failed').take()).toEqual(['refuse 3: inference-failed', 'run 4 of #1 anew']);
  expect(story.messages[0]).toMatch(
    /^sequence a to model 'm' has ended because a step before this one was not answered/,
  );
  expect(story.failed(4, 'worker-lost').take()).toEqual(['forget #1: failed']);
  expect(story.arrives(5, 'a').take()).toEqual(['refuse 5: invalid-request']);
});

test('a start that waits right behind a failed step still runs', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start').arrives(2, 'a', 'start').arrives(3, 'a', 'end');
  story.take();
  expect(story.failed(1, 'inference-failed').take()).toEqual(['run 2 of #1 anew']);
  expect(story.answered(2).answered(3).take()).toEqual(['run 3 of #1', 'forget #1: ended']);
});

test('a cancelled step cancels those behind it; those before it still run', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start').arrives(2, 'a').arrives(3, 'a').arrives(4, 'a');
  story.take();
  expect(story.cancelled(3).take()).toEqual(['refuse 3: cancelled', 'refuse 4: cancelled']);
  expect(story.answered(1).answered(2).take()).toEqual(['run 2 of #1', 'forget #1: failed']);
});

test('cancelling a step that runs only asks for it; its answer or failure decides', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start');
  story.take();
  expect(story.cancelled(1).take()).toEqual(['cancel-run 1: cancelled']);
  expect(story.failed(1, 'cancelled').take()).toEqual(['forget #1: failed']);
  expect(story.cancelled(1).take()).toEqual([]);
});

test('a sequence in the backlog that is cancelled is removed completely', () => {
  const story = new Story({ slotsMax: 1 });
  story.arrives(1, 'a', 'start').arrives(2, 'b', 'start');
  story.take();
  expect(story.cancelled(2).take()).toEqual(['refuse 2: cancelled']);
  expect(story.counts()).toMatchObject({ backlogSequences: 0, waitingSteps: 0, waitingBytes: 0 });
});

test('a sequence is idle from its last answer on, and over to the millisecond', () => {
  const story = new Story({ idleMsMax: 100 });
  story.arrives(1, 'a', 'start').after(500).answered(1);
  expect(story.take()).toEqual(['run 1 of #1 anew', 'wake at 600']);
  expect(story.after(99).tick().take()).toEqual(['wake at 600']);
  expect(story.after(1).arrives(2, 'a').take()).toEqual(['forget #1: idle', 'refuse 2: invalid-request']);
});

test('a step in time keeps a sequence alive, and the next in the backlog gets the slot of an idle one', () => {
  const story = new Story({ idleMsMax: 100, slotsMax: 1 });
  story.arrives(1, 'a', 'start').answered(1).after(99).arrives(2, 'a').answered(2);
  story.arrives(3, 'b', 'start').take();
  expect(story.after(100).tick().take()).toEqual(['forget #1: idle', 'run 3 of #2 anew']);
});

test('a sequence waits for a slot no longer than any of its steps allows', () => {
  const story = new Story({ slotsMax: 1 });
  story.arrives(1, 'a', 'start').arrives(2, 'b', 'start').arrives(3, 'b', '', { slotWaitMsMax: 50 });
  expect(story.take()).toEqual(['run 1 of #1 anew', 'wake at 50']);
  expect(story.after(50).tick().take()).toEqual(['refuse 2: queue-timeout', 'refuse 3: queue-timeout']);
  expect(story.messages).toEqual(Array(2).fill('timeout of the corresponding sequence has been expired'));
});

test('the limit for the slot wait does not apply once there is a slot', () => {
  const story = new Story({ slotsMax: 1 });
  story.arrives(1, 'a', 'start').arrives(2, 'a', 'end').arrives(3, 'b', 'start', { slotWaitMsMax: 50 });
  story.arrives(4, 'b', '', { slotWaitMsMax: 50 }).answered(1).answered(2).take();
  expect(story.after(60).tick().take()).toEqual([]);
  expect(story.answered(3).take()).toEqual(['run 4 of #2']);
});

test('a deadline that passes while a step waits is its own, and cancels those behind', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start').arrives(2, 'a', '', { deadlineAt: 30 }).arrives(3, 'a', '', { deadlineAt: 90 });
  story.take();
  expect(story.after(30).tick().take()).toEqual(['refuse 2: deadline-exceeded', 'refuse 3: cancelled']);
  expect(story.arrives(4, 'b', 'start', { deadlineAt: 30 }).take()).toEqual(['refuse 4: deadline-exceeded']);
});

test('while it closes no sequence begins, live ones continue, and the last end is reported', () => {
  const story = new Story({ idleMsMax: 100 });
  story.arrives(1, 'a', 'start').arrives(2, 'b', 'start').answered(1).answered(2).take();
  expect(story.closing().arrives(3, 'c', 'start').take()).toEqual(['refuse 3: model-not-ready']);
  expect(story.arrives(4, 'a', 'end').answered(4).take()).toEqual(['run 4 of #1', 'forget #1: ended']);
  expect(story.after(100).tick().take()).toEqual(['forget #2: idle', 'closed']);
  expect(story.tick().take()).toEqual([]);
});

test('after reopening sequences begin again, before and after it was closed', () => {
  const story = new Story();
  story.arrives(1, 'a', 'start').closing().closing('reopened').arrives(2, 'b', 'start');
  expect(story.take()).toEqual(['run 1 of #1 anew', 'run 2 of #2 anew']);
  story.closing().answered(1).answered(2).arrives(3, 'a', 'end').arrives(4, 'b', 'end').answered(3).answered(4);
  expect(story.take().at(-1)).toBe('closed');
  expect(story.closing('reopened').arrives(5, 'a', 'start').take()).toEqual(['run 5 of #3 anew']);
});

test('closing at once ends everything with a reason', () => {
  const story = new Story({ slotsMax: 1 });
  story.arrives(1, 'a', 'start').arrives(2, 'a').arrives(3, 'b', 'start').take();
  expect(story.closing('closing-at-once').take()).toEqual([
    'refuse 3: model-not-ready',
    'refuse 2: model-not-ready',
    'cancel-run 1: cancelled',
  ]);
  expect(story.failed(1, 'cancelled').take()).toEqual(['forget #1: unloaded', 'closed']);
});

test("the same id of two owners names two sequences, and neither can continue the other's", () => {
  const story = new Story();
  story.arrives(1, 7n, 'start', { owner: 'a' }).arrives(2, 7n, 'start', { owner: 'b' }).answered(1).answered(2);
  expect(story.take()).toEqual(['run 1 of #1 anew', 'run 2 of #2 anew']);
  expect(story.arrives(3, 7n, 'end', { owner: 'a' }).answered(3).take()).toEqual(['run 3 of #1', 'forget #1: ended']);
  expect(story.arrives(4, 7n, '', { owner: 'a' }).take()).toEqual(['refuse 4: invalid-request']);
  expect(story.arrives(5, 7n, '', { owner: 'b' }).take()).toEqual(['run 5 of #2']);
});

test('a free slot goes to the owner that has the fewest, and to the oldest of equals', () => {
  const story = new Story({ slotsMax: 2 });
  story.arrives(1, 1n, 'start', { owner: 'a' }).arrives(2, 2n, 'start', { owner: 'a' });
  story.arrives(3, 3n, 'start', { owner: 'a' }).arrives(4, 1n, 'start', { owner: 'b' }).take();
  expect(story.arrives(5, 1n, 'end', { owner: 'a' }).answered(1).answered(5).take()).toEqual([
    'run 5 of #1',
    'forget #1: ended',
    'run 4 of #4 anew',
  ]);
});

test('an owner that holds every slot loses the longest idle one to an owner that has waited', () => {
  const story = new Story({ slotsMax: 2, idleMsMax: 100 });
  story.arrives(1, 1n, 'start', { owner: 'a' }).arrives(2, 2n, 'start', { owner: 'a' }).answered(1).answered(2);
  story.arrives(3, 1n, 'start', { owner: 'b' });
  // Steps in time keep both alive.
  story
    .after(60)
    .arrives(4, 2n, '', { owner: 'a' })
    .answered(4)
    .after(20)
    .arrives(5, 1n, '', { owner: 'a' })
    .answered(5);
  story.take();
  expect(story.after(19).tick().take()).toEqual(['wake at 100']);
  expect(story.after(1).tick().take()).toEqual(['forget #2: reclaimed', 'run 3 of #3 anew', 'wake at 180']);
});

test('slots that are kept busy are given up too, after the step that runs', () => {
  const story = new Story({ slotsMax: 2, idleMsMax: 100 });
  story
    .arrives(1, 1n, 'start', { owner: 'a' })
    .arrives(2, 2n, 'start', { owner: 'a' })
    .arrives(3, 1n, '', { owner: 'a' });
  story.arrives(4, 1n, 'start', { owner: 'b' }).take();
  expect(story.after(100).tick().take()).toEqual(['refuse 3: caller-full']);
  expect(story.messages).toEqual([
    "sequence 1 to model 'm' has ended: its caller had more than its share of the 2 slots while another one waited; " +
      'keep fewer sequences open, and start it anew',
  ]);
  // Nothing else of it is taken meanwhile.
  expect(story.after(100).tick().take()).toEqual([]);
  expect(story.answered(1).take()).toEqual(['forget #1: reclaimed', 'run 4 of #3 anew']);
  expect(story.after(1000).tick().take()).toEqual([]);
});

test('one owner alone keeps its slots, and each of two keeps its share', () => {
  const alone = new Story({ slotsMax: 1, idleMsMax: 100 });
  alone.arrives(1, 1n, 'start').arrives(2, 2n, 'start').take();
  expect(alone.after(1000).tick().take()).toEqual([]);
  const two = new Story({ slotsMax: 2, idleMsMax: 100 });
  two.arrives(1, 1n, 'start', { owner: 'a' }).arrives(2, 1n, 'start', { owner: 'b' });
  two.arrives(3, 2n, 'start', { owner: 'a' }).arrives(4, 2n, 'start', { owner: 'b' }).take();
  expect(two.after(1000).tick().take()).toEqual([]);
});

test('a wait for a slot ends with an error that names its limit', () => {
  const story = new Story({ slotsMax: 1, slotWaitMsMax: 300 });
  story.arrives(1, 'a', 'start').arrives(2, 'b', 'start').arrives(3, 'b');
  expect(story.take()).toEqual(['run 1 of #1 anew', 'wake at 300']);
  expect(story.after(300).tick().take()).toEqual(['refuse 2: queue-timeout', 'refuse 3: queue-timeout']);
  expect(story.messages[0]).toBe(
    "the sequence waited 300 ms (millrace.sequence_slot_wait_ms_max) for one of the 1 slots of model 'm'; " +
      'end sequences that are done, or retry after a pause',
  );
});

test('a full backlog displaces a sequence of the owner that has the most in it', () => {
  const story = new Story({ slotsMax: 1, backlogSequencesMax: 3 });
  for (const step of [1, 2, 3, 4]) story.arrives(step, BigInt(step), 'start', { owner: 'a' });
  story.take();
  expect(story.arrives(5, 1n, 'start', { owner: 'b' }).take()).toEqual(['refuse 4: caller-full']);
  // Now a has two and b one: b may not have more than a.
  expect(story.arrives(6, 2n, 'start', { owner: 'b' }).take()).toEqual(['refuse 6: model-full']);
  expect(story.arrives(7, 5n, 'start', { owner: 'a' }).take()).toEqual(['refuse 7: model-full']);
  expect(story.counts()).toMatchObject({ backlogSequences: 3, waitingSteps: 3 });
});

test('steps and bytes that wait make room for an owner that has less', () => {
  const steps = new Story({ waitingStepsMax: 3 });
  steps.arrives(1, 1n, 'start', { owner: 'a' });
  for (const step of [2, 3, 4]) steps.arrives(step, 1n, '', { owner: 'a' });
  steps.arrives(5, 1n, 'start', { owner: 'b' }).take();
  expect(steps.arrives(6, 1n, '', { owner: 'b' }).take()).toEqual(['refuse 4: caller-full']);
  const bytes = new Story({ waitingBytesMax: 100 });
  bytes.arrives(1, 1n, 'start', { owner: 'a' });
  for (const step of [2, 3, 4, 5]) bytes.arrives(step, 1n, '', { owner: 'a', bytes: 25 });
  bytes.arrives(6, 1n, 'start', { owner: 'b' }).take();
  expect(bytes.arrives(7, 1n, '', { owner: 'b', bytes: 40 }).take()).toEqual([
    'refuse 5: caller-full',
    'refuse 4: caller-full',
  ]);
  expect(bytes.arrives(8, 1n, '', { owner: 'b', bytes: 40 }).take()).toEqual(['refuse 8: model-full']);
  expect(bytes.counts()).toMatchObject({ waitingBytes: 90 });
});

test('where memory is short an owner loses its longest idle sequence, if it has one', () => {
  const story = new Story();
  story.arrives(1, 1n, 'start').answered(1).arrives(2, 2n, 'start').take();
  expect(story.overShare('o').take()).toEqual(['forget #1: reclaimed']);
  expect(story.overShare('o').overShare('nobody').take()).toEqual([]);
});

test('a policy without slots breaks an invariant', () => {
  expect(() => new Story({ slotsMax: 0 })).toThrow('invariant broken');
  expect(resolveTestPolicy({}).slotsMax).toBeGreaterThan(0);
});
