import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type EnsemblePlan, type EnsembleStep, planEnsemble } from './ensemble-plan.ts';
import { EnsembleRun } from './ensemble-run.ts';

/** A random graph: step `i` reads from the input or from steps before it, and every step's output may be wanted. */
const plans = fc
  .array(fc.array(fc.nat(1000), { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 })
  .map((picks): EnsemblePlan => {
    const steps = picks.map((sources, index): EnsembleStep => {
      const inputs = sources.map((source, position) => ({ name: `x${position}`, tensor: `t${source % (index + 1)}` }));
      // The first step reads the input, so that it is never unused.
      if (index === 0) inputs[0] = { name: 'x0', tensor: 't0' };
      return { model: `m${index}`, version: '', inputs, outputs: [{ name: 'y', tensor: `t${index + 1}` }] };
    });
    const planning = planEnsemble({ inputs: ['t0'], outputs: steps.map((_, index) => `t${index + 1}`), steps });
    if ('problems' in planning) throw new Error(JSON.stringify(planning.problems));
    return planning.plan;
  });

interface Story {
  readonly plan: EnsemblePlan;
  readonly outputs: readonly number[];
  /** Which of the running steps ends next, and whether it fails. */
  readonly endings: readonly { readonly pick: number; readonly fails: boolean }[];
}

const stories = (mayFail: boolean): fc.Arbitrary<Story> =>
  plans.chain((plan) =>
    fc.record({
      plan: fc.constant(plan),
      outputs: fc.uniqueArray(fc.nat(plan.outputs.length - 1), { minLength: 1 }),
      endings: fc.array(fc.record({ pick: fc.nat(1000), fails: mayFail ? fc.boolean() : fc.constant(false) }), {
        minLength: 12,
        maxLength: 12,
      }),
    }),
  );

function neededFor(plan: EnsemblePlan, wanted: ReadonlySet<number>): ReadonlySet<number> {
  const needed = new Set<number>();
  const visit = (step: number): void => {
    needed.add(step);
    for (const earlier of plan.steps[step]?.after ?? []) visit(earlier);
  };
  for (const step of wanted) visit(step);
  return needed;
}

/** Runs a story to its end and checks the rules at every step. */
function play({ plan, outputs, endings }: Story) {
  const run = new EnsembleRun(plan, outputs);
  const running: number[] = [];
  const started = new Set<number>();
  const answered = new Set<number>();
  const released = new Set<number>();
  const wanted = new Set(outputs.map((output) => plan.outputs[output]?.step as number));
  const needed = neededFor(plan, wanted);
  const startNow = (): void => {
    for (const step of run.takeStartable()) {
      expect(started.has(step)).toBe(false);
      for (const earlier of plan.steps[step]?.after ?? []) expect(answered.has(earlier)).toBe(true);
      for (const earlier of plan.steps[step]?.after ?? []) expect(released.has(earlier)).toBe(false);
      started.add(step);
      running.push(step);
    }
    for (const step of run.takeUnread()) {
      expect(answered.has(step)).toBe(true);
      expect(released.has(step)).toBe(false);
      expect(wanted.has(step)).toBe(false);
      for (const reader of plan.steps[step]?.before ?? []) {
        expect(running.includes(reader) || (started.has(reader) && !answered.has(reader))).toBe(false);
      }
      released.add(step);
    }
    // No step that could start waits.
    if (run.hasFailed) return;
    for (const step of needed) {
      if (plan.steps[step]?.after.every((earlier) => answered.has(earlier))) expect(started.has(step)).toBe(true);
    }
  };
  startNow();
  for (const { pick, fails } of endings) {
    if (running.length === 0) break;
    const [step] = running.splice(pick % running.length, 1) as [number];
    if (fails) run.failed();
    else {
      answered.add(step);
      run.answered(step);
    }
    const before = started.size;
    startNow();
    if (run.hasFailed) expect(started.size).toBe(before);
    expect(run.isOver).toBe(run.hasFailed && running.length === 0);
  }
  return { run, started, answered, released, wanted, running };
}

test('each step that leads to a wanted output runs once, as soon as those it reads have answered; the others never', () => {
  fc.assert(
    fc.property(stories(false), (story) => {
      const { run, started, released, wanted } = play(story);
      expect(run.isDone).toBe(true);
      const needed = neededFor(story.plan, wanted);
      expect([...started].sort()).toEqual([...needed].sort());
      // Everything that is not needed in the end has been released.
      expect(new Set([...released, ...wanted])).toEqual(needed);
    }),
    { seed: 7, numRuns: 300 },
  );
});

test('after a failure nothing starts, and it is over when the last running step has ended', () => {
  fc.assert(
    fc.property(stories(true), (story) => {
      const { run, running } = play(story);
      expect(run.isDone && !run.hasFailed ? running.length : 0).toBe(0);
      expect(run.hasFailed || run.isDone).toBe(true);
    }),
    { seed: 9, numRuns: 300 },
  );
});

test('a run that nobody waits for starts nothing more', () => {
  const planning = planEnsemble({
    inputs: ['a'],
    outputs: ['c'],
    steps: [
      { model: 'm', version: '', inputs: [{ name: 'x', tensor: 'a' }], outputs: [{ name: 'y', tensor: 'b' }] },
      { model: 'n', version: '', inputs: [{ name: 'x', tensor: 'b' }], outputs: [{ name: 'y', tensor: 'c' }] },
    ],
  });
  if ('problems' in planning) throw new Error('it is sound');
  const run = new EnsembleRun(planning.plan, [0]);
  expect(run.takeStartable()).toEqual([0]);
  run.abandon();
  expect(run.isOver).toBe(false);
  run.answered(0);
  expect(run.takeStartable()).toEqual([]);
  expect(run.isOver).toBe(true);
});
