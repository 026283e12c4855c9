/** What a stream does while its owner has its share of the journal. */
import { expect, test } from 'vitest';
import { StreamHarness, textPayload } from './testing/stream-harness.ts';

function opened(config: ConstructorParameters<typeof StreamHarness>[0] = {}): StreamHarness {
  const harness = new StreamHarness(config).attach().commit();
  harness.take();
  return harness;
}

const scarce = { kind: 'journal', isScarce: true } as const;
const roomy = { kind: 'journal', isScarce: false } as const;

test('inputs wait, and are applied when there is room', () => {
  const harness = opened().handle(scarce).input(1).input(2);
  expect(harness.take()).toEqual([]);
  expect(harness.handle(roomy).take()).toEqual([
    'append input 1',
    'append input 2',
    'run 1 in1 state=-',
    'run 2 in2 state=-',
  ]);
});

test('outputs of steps that are running wait as well', () => {
  const harness = opened().input(1).input(2).commit();
  harness.take();
  expect(harness.handle(scarce).done(2, 'out2').done(1, 'out1').take()).toEqual([]);
  expect(harness.machine.heldBytes).toBeGreaterThan(8);
  expect(harness.handle(roomy).take()).toEqual(['append output 1 out1 last', 'append output 2 out2 last']);
});

test('outputs of a decoupled step wait in order, with those that come after', () => {
  const harness = opened({ model: 'decoupled' }).input(1).commit();
  harness.take();
  const output = (text: string, isLast: boolean) =>
    ({ kind: 'step-output', step: 1, payload: textPayload(text), isLast }) as const;
  expect(harness.handle(scarce).handle(output('a', false), output('b', false)).take()).toEqual([]);
  harness.machine.handle(roomy, 0);
  expect(harness.handle(output('c', true)).take()).toEqual([
    'append output 1 a',
    'append output 2 b',
    'append output 3 c last',
    'grant 1 100',
  ]);
});

test('a client gets no credit beyond what it was told, and more when there is room', () => {
  const harness = opened({ pendingInputsMax: 4 });
  harness.handle(scarce).input(1).input(2).input(3).input(4);
  expect(harness.take()).toEqual([]);
  harness.attach(2);
  const credit = (): unknown =>
    harness.actions.flatMap((action) =>
      action.kind === 'send' && (action.frame.kind === 'opened' || action.frame.kind === 'accepted')
        ? [action.frame.inputCredit.messages]
        : [],
    );
  expect(credit()).toEqual([4, 0]);
  harness.handle(roomy).commit();
  expect(credit()).toEqual([4, 0, 4, 0]);
});

test('a log is trimmed for little, so that there is room again', () => {
  const harness = opened({ scarceStaleBytesMin: 50 });
  harness.input(1).done(1, 'out1').commit();
  harness.take();
  expect(harness.handle(scarce).take()).toEqual([]);
  harness.handle({ kind: 'acknowledged', link: 1, output: 1, credit: undefined });
  expect(harness.take()).toEqual(['append checkpoint 1 state=-']);
  expect(harness.commit().take()).toEqual(['trim 4: opening, checkpoint 1 state=-']);
});

test('no checkpoint is written that would trim nothing', () => {
  const harness = opened().input(1).done(1, 'out1').commit();
  harness.take();
  expect(harness.handle(scarce).wait(5000).take()).toEqual([]);
  expect(harness.handle(roomy).take()).toEqual(['append checkpoint 1 state=-']);
});

test('a stream that has work ends after the wait, with the reason; one that has none stays', () => {
  const idle = opened({ journalWaitMsMax: 10_000 }).handle(scarce);
  expect(idle.wait(60_000).take()).toEqual([]);
  const harness = opened({ journalWaitMsMax: 10_000 }).handle(scarce).input(1);
  expect(harness.wait(9999).take()).toEqual([]);
  expect(harness.wait(1).take()).toEqual(['append ending failed journal-full 0']);
});

test('the wait begins anew when there was room meanwhile', () => {
  const harness = opened({ journalWaitMsMax: 10_000, pendingInputsMax: 1 }).handle(scarce).input(1).wait(9000);
  harness.handle(roomy).done(1, 'out1').commit().handle(scarce).input(2);
  harness.take();
  expect(harness.wait(9999).take()).toEqual([]);
  expect(harness.wait(1).take()).toEqual(['append ending failed journal-full 1']);
});

test.each([
  ['cancelled', { kind: 'cancelled', link: 1, message: 'enough' }, 'append ending cancelled cancelled 0'],
  [
    'failed',
    { kind: 'model-lost', error: { code: 'model-unloaded', message: 'gone' } },
    'append ending failed model-unloaded 0',
  ],
] as const)('an ending that the journal refuses with what is before it stays %s', (_, event, ending) => {
  const harness = opened().input(1).done(1, 'out1').handle(event);
  harness.take();
  const refused = { kind: 'append-refused', reason: 'full', number: 2 } as const;
  expect(harness.handle(refused).take()).toEqual([ending]);
  expect(harness.handle(refused).take()).toEqual(['close-link 1 journal-full', 'release journal-full']);
});
