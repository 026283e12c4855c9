/** Checks whether an ensemble and the models of its steps fit together; repeated whenever one of them changes. */
import { type EnsembleProblem, stepField, type TensorSource } from '@millrace/core';
import type { TensorSpec } from '@millrace/protocol';
import type { EnsembleDefinition } from '../../../model/ensemble-definition.ts';
import { shapesMeet } from '../../../model/fit-batch.ts';
import type { ModelView } from '../../../model/model-view.ts';
import { suggestionFor } from '../../config-text/suggestion.ts';

/** One end of a mapping: the shape between the models, and how messages name it. */
interface TensorEnd {
  readonly spec: TensorSpec;
  readonly shape: readonly number[];
  /** The first size is the number of rows. */
  readonly isBatched: boolean;
  readonly title: string;
}

/** Every mismatch. A step whose model is not known is skipped. */
export function stepProblems(
  { plan }: EnsembleDefinition,
  ensemble: ModelView,
  steps: readonly (ModelView | undefined)[],
): readonly EnsembleProblem[] {
  const problems: EnsembleProblem[] = [];
  const say = (field: string, message: string): void => {
    problems.push({ field, message });
  };
  const flowing = (source: TensorSource): TensorEnd | undefined => {
    if (source.kind === 'input') {
      const spec = ensemble.inputs[source.input];
      return spec && ensembleEnd(spec, ensemble, `input ${quote(spec.name)} of the ensemble`);
    }
    const giver = steps[source.step];
    const spec = giver && tensorOf(giver.outputs, plan.steps[source.step]?.gives[source.position]);
    return spec && stepEnd(spec, giver, `output ${quote(spec.name)} of ${quote(giver.name)}`);
  };
  for (const [index, step] of plan.steps.entries()) {
    const model = steps[index];
    if (model === undefined) continue;
    const field = stepField(index);
    // One whose max_batch_size is a guess takes any number of rows.
    const isBounded = model.isBatched && model.sharing?.isGuessed !== true;
    if (isBounded && ensemble.isBatched && ensemble.rowsMax > model.rowsMax) {
      const least = `set max_batch_size to ${model.rowsMax} or less`;
      say('max_batch_size', `is ${ensemble.rowsMax}, but ${quote(model.name)} takes ${model.rowsMax} rows; ${least}`);
    }
    for (const { name, source } of step.takes) {
      const path = `${field}.input_map[${quote(name)}]`;
      const wanted = tensorOf(model.inputs, name);
      const given = flowing(source);
      if (wanted === undefined) say(path, unknownTensor(model, 'input', name));
      else if (given !== undefined)
        sayMismatch(given, stepEnd(wanted, model, `input of ${quote(model.name)}`), path, say);
    }
    for (const { name, isOptional } of model.inputs) {
      if (isOptional === true || step.takes.some((link) => link.name === name)) continue;
      say(`${field}.input_map`, `${quote(model.name)} requires its input ${quote(name)}; add it`);
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
      sayMismatch(given, ensembleEnd(wanted, ensemble, 'output of the ensemble'), `output[${index}]`, say);
    }
  }
  return problems;
}

type Say = (field: string, message: string) => void;

/** Callers of a model see its `dims`; inside an ensemble its own tensors have the shape of their `reshape`. */
function ensembleEnd(spec: TensorSpec, { isBatched }: ModelView, title: string): TensorEnd {
  return { spec, shape: spec.engineShape ?? spec.shape, isBatched, title };
}

function stepEnd(spec: TensorSpec, { isBatched }: ModelView, title: string): TensorEnd {
  return { spec, shape: spec.shape, isBatched: isBatched && spec.hasDefault !== true, title };
}

function sayMismatch(given: TensorEnd, wanted: TensorEnd, field: string, say: Say): void {
  const { title: origin } = given;
  const target = `this ${wanted.title}`;
  if (given.spec.datatype !== wanted.spec.datatype) {
    say(field, `${origin} is ${given.spec.datatype}, but ${target} is ${wanted.spec.datatype}; make them equal`);
  } else if (!canMeet(given, wanted)) {
    const shapes = `has the shape [${given.shape.join(', ')}], but ${target} has [${wanted.shape.join(', ')}]`;
    say(field, `${origin} ${shapes}; make them fit`);
  } else if (given.spec.isOptional === true && wanted.spec.isOptional !== true) {
    say(field, `${origin} is optional, but ${target} is not; remove optional`);
  }
}

/** As in Triton: shapes match without the rows, so that a batch of one can be added or dropped, or with them. */
function canMeet(given: TensorEnd, wanted: TensorEnd): boolean {
  if (given.spec.isAnyRank === true || wanted.spec.isAnyRank === true) return true;
  return shapesMeet(dimsOf(given), dimsOf(wanted)) || shapesMeet(given.shape, wanted.shape);
}

/** A single value is a list of one to an ensemble, whose configuration cannot say otherwise. */
function dimsOf({ shape, isBatched }: TensorEnd): readonly number[] {
  const dims = isBatched ? shape.slice(1) : shape;
  return dims.length === 0 ? [1] : dims;
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
