import { InferenceError } from '@millrace/protocol';
import type { Catalogue } from '../catalogue/catalogue.ts';

/** Why a model cannot serve now: it does not exist, or is loading. Undefined: it is ready. For probes, which get no error. */
export function takeReadinessProblem(catalogue: Catalogue, model: string, version: string): InferenceError | undefined {
  try {
    catalogue.mustFind(model, version);
    return undefined;
  } catch (error) {
    if (error instanceof InferenceError) return error;
    throw error;
  }
}
