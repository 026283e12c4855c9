/** Whether an ensemble and the models of its steps fit together; asked whenever one of them is new. */
import { type EnsembleProblem, stepField, type TensorSource } from '@millrace/core';
import type { TensorSpec } from '@millrace/protocol';
import type { ModelView } from '../catalogue.ts';
import { suggestionFor } from '../config-text/suggestion.ts';
import type { EnsembleDefinition } from './read-ensemble.ts';

/** A tensor that flows, and how its origin is told. */
interface Flowing {
  readonly spec: TensorSpec;
  readonly origin: string;
}

/** All that does not fit. A step whose model is not known is left out. */
export function stepProblems(
  { plan }: EnsembleDefinition,
  ensemble: ModelView,
  steps: readonly (ModelView | undefined)[],
): readonly EnsembleProblem[] {
  const problems: EnsembleProblem[] = [];
  const say = (field: string, message: string): void => {
    problems.push({ field, message });
  };
  const flowing = (source: TensorSource): Flowing | undefined => {
    if (source.kind === 'input') {
      const spec = ensemble.inputs[source.input];
      return spec && { spec, origin: `input ${quote(spec.name)} of the ensemble` };
    }
    const giver = steps[source.step];
    const spec = giver && tensorOf(giver.outputs, plan.steps[source.step]?.gives[source.position]);
    return spec && { spec, origin: `output ${quote(spec.name)} of ${quote(giver.name)}` };
  };
  for (const [index, step] of plan.steps.entries()) {
    const model = steps[index];
    if (model === undefined) continue;
    const field = stepField(index);
    if (model.isBatched && ensemble.isBatched && ensemble.rowsMax > model.rowsMax) {
      const least = `set max_batch_size to ${model.rowsMax} or less`;
      say('max_batch_size', `is ${ensemble.rowsMax}, but ${quote(model.name)} takes ${model.rowsMax} rows; ${least}`);
    }
    for (const { name, source } of step.takes) {
      const path = `${field}.input_map[${quote(name)}]`;
      const wanted = tensorOf(model.inputs, name);
      const given = flowing(source);
      if (wanted === undefined) say(path, unknownTensor(model, 'input', name));
      else if (given !== undefined) sayMismatch(given, wanted, `input of ${quote(model.name)}`, path, say);
    }
    for (const { name, isOptional } of model.inputs) {
      if (isOptional === true || step.takes.some((link) => link.name === name)) continue;
      say(`${field}.input_map`, `${quote(model.name)} cannot do without its input ${quote(name)}; add it`);
    }
    for (const name of step.gives) {
      if (tensorOf(model.outputs, name) === undefined) {
        say(`${field}.output_map[${quote(name)}]`, unknownTensor(model, 'output', name));
      }
    }
  }
  for (const [index, { step, position }] of plan.outputs.entries()) {
    const given = flowing({ kind: 'step', step, position });
    const wanted = ensemble.outputs[index];
    if (given !== undefined && wanted !== undefined) {
      sayMismatch(given, wanted, 'output of the ensemble', `output[${index}]`, say);
    }
  }
  return problems;
}

type Say = (field: string, message: string) => void;

function sayMismatch({ spec, origin }: Flowing, wanted: TensorSpec, what: string, field: string, say: Say): void {
  const target = `this ${what}`;
  if (spec.datatype !== wanted.datatype) {
    say(field, `${origin} is ${spec.datatype}, but ${target} is ${wanted.datatype}; make them equal`);
  } else if (!canMeet(spec.shape, wanted.shape)) {
    const shapes = `has the shape [${spec.shape.join(', ')}], but ${target} has [${wanted.shape.join(', ')}]`;
    say(field, `${origin} ${shapes}; make them fit`);
  } else if (spec.isOptional === true && wanted.isOptional !== true) {
    say(field, `${origin} is optional, but ${target} is not; remove optional`);
  }
}

/** Free sizes meet any. */
function canMeet(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size < 0 || (b[axis] as number) < 0 || size === b[axis]);
}

function tensorOf(specs: readonly TensorSpec[], name: string | undefined): TensorSpec | undefined {
  return specs.find((spec) => spec.name === name);
}

function unknownTensor(model: ModelView, what: 'input' | 'output', name: string): string {
  const names = (what === 'input' ? model.inputs : model.outputs).map((spec) => spec.name);
  return `${quote(model.name)} has no ${what} ${quote(name)}${suggestionFor(name, names) || `; it has ${names.join(', ')}`}`;
}

function quote(name: string): string {
  return JSON.stringify(name);
}
