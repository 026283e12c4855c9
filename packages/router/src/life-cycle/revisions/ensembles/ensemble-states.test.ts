import { planEnsemble } from '@millrace/core';
import { describe, expect, test } from 'vitest';
import type { ModelState } from '../../../catalogue/catalogue.ts';
import { ServedModels } from '../../../catalogue/served-models.ts';
import { showState } from '../../../catalogue/testing/show-state.ts';
import type { ServedModel } from '../../../data-plane/served-model.ts';
import { servedModel } from '../../../data-plane/testing/models.ts';
import type { EnsembleDefinition } from '../../../model/ensemble-definition.ts';
import { EnsembleStates } from './ensemble-states.ts';

const spec = (name: string, datatype: 'FP32' | 'INT8' = 'FP32') => ({ name, datatype, shape: [-1, 1] }) as const;

function plainModel(name: string, datatype: 'FP32' | 'INT8' = 'FP32', version = '1'): ServedModel {
  const labels = new Map([['y', ['no', 'yes']]]);
  return servedModel([spec('x', datatype)], [spec('y')], { name, version, labels });
}

/** An ensemble `name` that runs these models one after the other. */
function ensembleOf(name: string, ...steps: readonly string[]): { model: ServedModel; definition: EnsembleDefinition } {
  const planning = planEnsemble({
    inputs: ['t0'],
    outputs: [`t${steps.length}`],
    steps: steps.map((model, index) => ({
      model,
      version: '',
      inputs: [{ name: 'x', tensor: `t${index}` }],
      outputs: [{ name: 'y', tensor: `t${index + 1}` }],
    })),
  });
  if ('problems' in planning) throw new Error('the ensemble of the test must be valid');
  const labels = new Map<string, readonly string[]>();
  const model = servedModel([spec('x')], [spec('y')], { name, platform: 'ensemble', labels });
  const inflightMax = Number.POSITIVE_INFINITY;
  return { model, definition: { plan: planning.plan, inflightMax, labels, ownLabels: new Set() } };
}

function setUp(models: readonly ServedModel[], ensembles: readonly ReturnType<typeof ensembleOf>[]) {
  const served = new ServedModels();
  const show = (model: ServedModel, state: ModelState, reason: string) => showState(served, model, { state, reason });
  for (const model of [...models, ...ensembles.map((one) => one.model)]) show(model, 'loading', 'the model is loading');
  const told: string[] = [];
  const states = new EnsembleStates({
    models: served,
    report: (model, { state, reason }) => {
      if (state !== 'loading') told.push(`${model.view.name} ${state}`);
      show(model, state, reason);
    },
  });
  for (const { model, definition } of ensembles) states.add(model, definition);
  const stateOf = (name: string): readonly [ModelState | undefined, string | undefined] => {
    const status = served.statuses().find((one) => one.name === name);
    return [status?.state, status?.reason];
  };
  return { show, states, told, stateOf };
}

describe('EnsembleStates', () => {
  test('an ensemble is ready when all of its steps are, and names the step it waits for until then', () => {
    const [a, b] = [plainModel('a'), plainModel('b')];
    const { show, stateOf, told } = setUp([a, b], [ensembleOf('e', 'a', 'b')]);
    expect(stateOf('e')).toEqual(['loading', expect.stringMatching(/its step "a" is not ready: .*loading/)]);
    show(a, 'ready', '');
    expect(stateOf('e')).toEqual(['loading', expect.stringMatching(/its step "b" is not ready/)]);
    show(b, 'ready', '');
    expect(stateOf('e')).toEqual(['ready', '']);
    expect(told).toEqual(['e ready']);
  });

  test('it fails and becomes ready again together with a step', () => {
    const a = plainModel('a');
    const { show, stateOf, told } = setUp([a], [ensembleOf('e', 'a')]);
    show(a, 'ready', '');
    show(a, 'failed', 'no such file');
    expect(stateOf('e')).toEqual(['failed', expect.stringMatching(/its step "a" is not ready: .*no such file/)]);
    show(a, 'ready', '');
    expect(stateOf('e')).toEqual(['ready', '']);
    expect(told).toEqual(['e ready', 'e failed', 'e ready']);
  });

  test('an unknown step fails it at once', () => {
    const { stateOf } = setUp([], [ensembleOf('e', 'nobody')]);
    expect(stateOf('e')).toEqual(['failed', expect.stringMatching(/its step "nobody" is not ready: .*not found/)]);
  });

  test('a new version of a step is checked again, and its labels are used', () => {
    const [one, two] = [plainModel('a', 'FP32', '1'), plainModel('a', 'INT8', '2')];
    const ensemble = ensembleOf('e', 'a');
    const { show, stateOf } = setUp([one, two], [ensemble]);
    show(one, 'ready', '');
    expect(stateOf('e')).toEqual(['ready', '']);
    expect(ensemble.model.view.labels.get('y')).toEqual(['no', 'yes']);
    show(two, 'ready', '');
    expect(stateOf('e')).toEqual([
      'failed',
      'ensemble_scheduling.step[0].input_map["x"]: input "x" of the ensemble is FP32, but this input of "a" is INT8; ' +
        'make them equal',
    ]);
  });

  test('an ensemble of ensembles is ready at the same time', () => {
    const a = plainModel('a');
    const { show, stateOf, told } = setUp([a], [ensembleOf('outer', 'inner'), ensembleOf('inner', 'a')]);
    show(a, 'ready', '');
    expect([stateOf('inner')[0], stateOf('outer')[0]]).toEqual(['ready', 'ready']);
    show(a, 'unloading', 'the model is being unloaded');
    expect([stateOf('inner')[0], stateOf('outer')[0]]).toEqual(['failed', 'failed']);
    expect(told).toEqual(['inner ready', 'outer ready', 'inner failed', 'outer failed']);
  });

  test('an ensemble that contains itself fails with the cycle', () => {
    const { stateOf } = setUp([], [ensembleOf('e', 'f'), ensembleOf('f', 'e')]);
    expect(stateOf('e')).toEqual([
      'failed',
      'it contains itself (e, which contains f, which contains e); remove it from the steps of one of them',
    ]);
    expect(stateOf('f')[0]).toBe('failed');
  });

  test('a removed ensemble is not updated', () => {
    const a = plainModel('a');
    const ensemble = ensembleOf('e', 'a');
    const { show, states, told } = setUp([a], [ensemble]);
    states.remove(ensemble.model);
    show(a, 'ready', '');
    expect(told).toEqual([]);
  });
});
