import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OutputLog } from './output-log.ts';
import { ReorderWindow } from './reorder-window.ts';
import type { OutputEntry } from './stream-entries.ts';
import { defaultStreamMachineConfig } from './stream-machine-config.ts';
import { StreamHarness, type TextPayload, textInput, textPayload } from './testing/stream-harness.ts';

test('inputs leave the reorder window once and in order, whatever order and how often they come', () => {
  const arrivals = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 });
  fc.assert(
    fc.property(arrivals, (sequences) => {
      const window = new ReorderWindow<TextPayload>(defaultStreamMachineConfig, 1, Number.POSITIVE_INFINITY, undefined);
      const taken: number[] = [];
      const came = new Set<number>();
      for (const sequence of sequences) {
        expect(window.put(textInput(sequence))).toBe(came.has(sequence) ? 'known' : 'kept');
        came.add(sequence);
        for (let next = window.peek(); next !== undefined; next = window.peek()) {
          taken.push(next.input.sequence);
          window.take();
        }
      }
      expect(taken).toEqual(taken.map((_, index) => index + 1));
      expect(came.has(taken.length + 1)).toBe(false);
      expect(window.inputs).toBe(came.size - taken.length);
      if (window.inputs === 0) expect(window.bytes).toBe(0);
    }),
    { seed: 7 },
  );
});

test('outputs are kept, acknowledged and taken back without losing count', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), size: fc.integer({ min: 0, max: 9 }) }),
    fc.record({
      kind: fc.constantFrom('commit' as const, 'acknowledge' as const, 'forget' as const),
      size: fc.integer({ min: 0, max: 9 }),
    }),
    fc.record({ kind: fc.constant('roll-back' as const), size: fc.constant(0) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const log = new OutputLog<TextPayload>([], 0, 0);
      for (const { kind, size } of steps) {
        if (kind === 'add') {
          const sequence = log.last + 1;
          const output: OutputEntry<TextPayload> = {
            kind: 'output',
            sequence,
            input: sequence,
            payload: textPayload(`${sequence}`, size),
            isLast: true,
          };
          log.add(output, sequence);
        } else if (kind === 'commit') log.commit(Math.min(log.last, log.durable + size));
        else if (kind === 'acknowledge') log.acknowledge(Math.min(log.durable, size));
        else if (kind === 'forget') log.forgetBeyond(size, 20, log.durable);
        else log.rollBack();
        const kept = log.retained();
        expect(kept.map(({ sequence }) => sequence)).toEqual(kept.map((_, index) => log.forgotten + 1 + index));
        expect(log.forgotten + kept.length).toBe(log.last);
        expect(log.retainedBytes).toBe(kept.reduce((sum, { payload }) => sum + (payload?.byteLength ?? 0), 0));
        expect(log.bytesAfter(log.forgotten)).toBe(log.retainedBytes);
        for (const output of kept) expect(log.take(output.sequence)).toBe(output);
      }
    }),
    { seed: 7 },
  );
});

test('a stateful stream that is restored from any prefix of its log ends with the same outputs', () => {
  const inputs = 6;
  const finish = (harness: StreamHarness): readonly string[] => {
    const started = (): number => harness.actions.findLastIndex(({ kind }) => kind === 'run');
    for (let sequence = 1; sequence <= inputs; sequence++) harness.input(sequence, { isLast: sequence === inputs }, 2);
    for (let at = started(), done = -1; at !== done; at = started()) {
      const run = harness.actions[at];
      done = at;
      if (run?.kind === 'run')
        harness.done(
          run.step,
          `${run.state?.text ?? ''}${run.input.sequence}`,
          `${run.state?.text ?? ''}${run.input.sequence}`,
        );
    }
    return [...harness.snapshot, ...harness.log].flatMap((entry) =>
      entry.kind === 'output' ? [entry.payload?.text ?? ''] : [],
    );
  };
  const config = { model: 'stateful', checkpointInputsMax: 2 } as const;
  const undisturbed = finish(new StreamHarness(config).commit().attach(2));
  expect(undisturbed).toEqual(['1', '12', '123', '1234', '12345', '123456']);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 15 }), (entries) => {
      const harness = new StreamHarness(config).commit().attach(2);
      finish(harness);
      harness.actions.length = 0;
      harness.restart(Math.min(entries, harness.log.length));
      if (harness.machine.ending === undefined) expect(finish(harness.attach(2))).toEqual(undisturbed);
    }),
    { seed: 7 },
  );
});
