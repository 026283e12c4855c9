/** Checks an input before its data is read. Messages follow Triton's, because its clients match on them. */
import { type Datatype, formatShape, quote, shapeProblem, type TensorSpec } from '@millrace/protocol';
import type { ModelView } from '../model/model-view.ts';

export interface InputHead {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

/** The most names that a message lists; a model, and a request, may have hundreds. */
const listedNamesMax = 16;

/** Names as a list for messages. */
export function namesIn(named: readonly { readonly name: string }[], separator = ', '): string {
  const names = named.slice(0, listedNamesMax).map(({ name }) => quote(name));
  const more = named.length > listedNamesMax ? ` and ${named.length - listedNamesMax} more` : '';
  return names.join(separator) + more;
}

export function unknownInputProblem(name: string, view: ModelView): string {
  return `unexpected inference input ${quote(name)} for model ${quote(view.name)}; its inputs are ${namesIn(view.inputs)}`;
}

/** Why it does not fit the input's spec; undefined: it does. `model` is the name that the caller used. */
export function inputHeadProblem(head: InputHead, spec: TensorSpec, model: string): string | undefined {
  const { name, datatype, shape } = head;
  if (datatype !== spec.datatype) {
    return `inference input ${quote(name)} data-type is '${datatype}', but model ${quote(model)} expects '${spec.datatype}'`;
  }
  const problem = shapeProblem(shape);
  if (problem !== undefined) return `input ${quote(name)} for model ${quote(model)}: ${problem}`;
  if (spec.isAnyRank === true || shapeFits(shape, spec.shape)) return undefined;
  const expected = `Expected [${spec.shape.join(',')}], got ${formatShape(shape)}. `;
  return `unexpected shape for input ${quote(name)} for model ${quote(model)}. ${expected}`;
}

/**
 * Triton shows a single value, or one value a row, as a list of one; callers that know the model from there send [1] for
 * [] and [N,1] for [N].
 */
export function withoutListOfOne<Head extends InputHead>(head: Head, spec: TensorSpec, isBatched: boolean): Head {
  const { shape } = head;
  const rank = isBatched && spec.hasDefault !== true ? 1 : 0;
  if (spec.shape.length !== rank || shape.length !== rank + 1 || shape[rank] !== 1) return head;
  return { ...head, shape: shape.slice(0, rank) };
}

export function shapeFits(shape: readonly number[], expected: readonly number[]): boolean {
  if (shape.length !== expected.length) return false;
  for (let axis = 0; axis < shape.length; axis++) {
    const wanted = expected[axis] as number;
    if (wanted >= 0 && wanted !== shape[axis]) return false;
  }
  return true;
}
