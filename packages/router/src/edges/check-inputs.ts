/** Checks the declared inputs of a large request against the model before their data is read. */
import { InferenceError, quotedCharactersMax, shortened } from '@millrace/protocol';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { type InputHead, inputHeadProblem, unknownInputProblem, withoutListOfOne } from '../data-plane/input-head.ts';
import type { ModelView } from '../model/model-view.ts';

/** Throws `unknown-model`, `model-not-ready`, or `invalid-request` where no possible version takes the inputs. */
export function checkInputs(
  { model, version, id }: { readonly model: string; readonly version: string; readonly id: string },
  heads: readonly InputHead[],
  catalogue: Catalogue,
): void {
  const view = catalogue.mustFind(model, version);
  const problem = problemOf(heads, view);
  if (problem === undefined) return;
  // A request that names no version may go to any of them.
  if (version === '') {
    for (const other of catalogue.readyVersions(model)) {
      if (problemOf(heads, catalogue.mustFind(model, other)) === undefined) return;
    }
  }
  const requestId = shortened(id, quotedCharactersMax) || '<id_unknown>';
  throw new InferenceError('invalid-request', `[request id: ${requestId}] ${problem}`);
}

function problemOf(heads: readonly InputHead[], view: ModelView): string | undefined {
  for (const head of heads) {
    const spec = view.inputs.find(({ name }) => name === head.name);
    if (spec === undefined) return unknownInputProblem(head.name, view);
    const problem = inputHeadProblem(withoutListOfOne(head, spec, view.isBatched), spec, view.name);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
