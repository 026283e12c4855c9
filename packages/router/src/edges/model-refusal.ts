import { InferenceError } from '@millrace/protocol';
import type { Catalogue } from '../catalogue/catalogue.ts';

/**
 * What to answer for a request whose body was refused: that its model cannot be served, where that is so. A caller who
 * misspelt the model would correct the body in vain.
 */
export function refusalBefore(error: unknown, catalogue: Catalogue, model: string, version: string): unknown {
  if (!(error instanceof InferenceError)) return error;
  try {
    catalogue.mustFind(model, version);
  } catch (refusal) {
    if (refusal instanceof InferenceError) return refusal;
  }
  return error;
}
