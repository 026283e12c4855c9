import { describe, expect, test } from 'vitest';
import { type EnsembleGraph, type EnsembleStep, ensembleStepsMax, planEnsemble } from './ensemble-plan.ts';

function step(model: string, inputs: Record<string, string>, outputs: Record<string, string>): EnsembleStep {
  const links = (map: Record<string, string>) => Object.entries(map).map(([name, tensor]) => ({ name, tensor }));
  return { model, version: '', inputs: links(inputs), outputs: links(outputs) };
}

function problemsOf(graph: EnsembleGraph): readonly string[] {
  const planning = planEnsemble(graph);
  return 'problems' in planning ? planning.problems.map(({ field, message }) => `${field}: ${message}`) : [];
}

const diamond: EnsembleGraph = {
  inputs: ['image'],
  outputs: ['label'],
  steps: [
    step('join', { a: 'left', b: 'right' }, { y: 'label' }),
    step('split', { x: 'image' }, { one: 'half', two: 'rest', three: 'spare' }),
    step('l', { x: 'half' }, { y: 'left' }),
    step('r', { x: 'rest', again: 'rest' }, { y: 'right' }),
  ],
};

describe('planEnsemble', () => {
  test('knows which step waits for which and where every tensor comes from, whatever the order of the steps', () => {
    const planning = planEnsemble(diamond);
    if ('problems' in planning) throw new Error(JSON.stringify(planning.problems));
    const { steps, outputs } = planning.plan;
    expect(steps.map(({ after, before }) => [after, before])).toEqual([
      [[2, 3], []],
      [[], [2, 3]],
      [[1], [0]],
      [[1], [0]],
    ]);
    expect(steps[3]?.takes).toEqual([
      { name: 'x', source: { kind: 'step', step: 1, position: 1 } },
      { name: 'again', source: { kind: 'step', step: 1, position: 1 } },
    ]);
    expect(steps[1]?.takes).toEqual([{ name: 'x', source: { kind: 'input', input: 0 } }]);
    expect(outputs).toEqual([{ kind: 'step', step: 0, position: 0 }]);
  });

  test('an output that nothing reads is not requested, and reported', () => {
    const planning = planEnsemble(diamond);
    if ('problems' in planning) throw new Error('it is sound');
    expect(planning.plan.steps[1]?.gives).toEqual(['one', 'two']);
    expect(planning.warnings).toEqual([
      {
        field: 'ensemble_scheduling.step[1].output_map["three"]',
        message: 'nothing reads "spare", so it is not computed; remove it',
      },
    ]);
  });

  test('a tensor that no step produces is reported, with the known tensors', () => {
    const graph = { ...diamond, steps: [...diamond.steps, step('more', { x: 'hlaf' }, { y: 'z' })] };
    expect(problemsOf(graph)).toEqual([
      'ensemble_scheduling.step[4].input_map["x"]: "hlaf" is neither an input of the ensemble nor produced by a step; ' +
        'known tensors are "image", "label", "half", "rest", "spare", "left", "right", "z"',
    ]);
  });

  test('a tensor has one origin', () => {
    const graph = {
      inputs: ['a'],
      outputs: ['c'],
      steps: [step('m', { x: 'a' }, { y: 'c', z: 'a' }), step('n', { x: 'a' }, { y: 'c' })],
    };
    expect(problemsOf(graph)).toEqual([
      'ensemble_scheduling.step[0].output_map["z"]: "a" is an input of the ensemble; choose another name for one of them',
      'ensemble_scheduling.step[1].output_map["y"]: "c" is already produced by ensemble_scheduling.step[0].output_map["y"]' +
        '; choose another name for one of them',
    ]);
  });

  test('every output comes from a step, every input is read, every step leads somewhere', () => {
    const graph = {
      inputs: ['a', 'idle'],
      outputs: ['c', 'a', 'nowhere'],
      steps: [step('m', { x: 'a' }, { y: 'c' })],
    };
    expect(problemsOf(graph)).toEqual([
      'output[1].name: "a" is an input too; an output must come from a step',
      'output[2].name: no step produces "nowhere"; add it to an output_map',
      'input[1].name: no step reads "idle"; use it or remove it',
    ]);
    const useless = {
      inputs: ['a'],
      outputs: ['c'],
      steps: [step('m', { x: 'a' }, { y: 'c' }), step('n', { x: 'a' }, { y: 'd' })],
    };
    expect(problemsOf(useless)).toEqual(['ensemble_scheduling.step[1]: no output depends on "n"; remove the step']);
  });

  test('steps that wait for each other are reported as a cycle', () => {
    const graph = {
      inputs: ['a'],
      outputs: ['d'],
      steps: [
        step('m', { x: 'a', loop: 'c' }, { y: 'b' }),
        step('n', { x: 'b' }, { y: 'c' }),
        step('o', { x: 'c' }, { y: 'd' }),
      ],
    };
    expect(problemsOf(graph)).toEqual([
      'ensemble_scheduling.step: step[0] (m) waits for step[1] (n) waits for step[0] (m); ' +
        'no step may wait for itself: break the cycle',
    ]);
    const self = { inputs: ['a'], outputs: ['b'], steps: [step('m', { x: 'a', loop: 'b' }, { y: 'b' })] };
    expect(problemsOf(self)).toEqual([expect.stringContaining('step[0] (m) waits for step[0] (m)')]);
  });

  test('has at least one step and at most ensembleStepsMax', () => {
    expect(problemsOf({ inputs: [], outputs: [], steps: [] })).toEqual([expect.stringContaining('there is none')]);
    const chain = (count: number): EnsembleGraph => ({
      inputs: ['t0'],
      outputs: [`t${count}`],
      steps: Array.from({ length: count }, (_, index) => step('m', { x: `t${index}` }, { y: `t${index + 1}` })),
    });
    expect(problemsOf(chain(ensembleStepsMax))).toEqual([]);
    expect(problemsOf(chain(ensembleStepsMax + 1))).toEqual([
      `ensemble_scheduling.step: there are ${ensembleStepsMax + 1}; an ensemble has from 1 to ${ensembleStepsMax} steps`,
    ]);
  });
});
