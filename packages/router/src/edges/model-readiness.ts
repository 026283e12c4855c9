import { InferenceError } from '@millrace/protocol';
import type { Catalogue } from '../catalogue/catalogue.ts';

/** Why a model cannot serve now: it is not there, or loading. Undefined: it is ready. Probes are told this, not refused. */
export function takeReadinessProblem(catalogue: Catalogue, model: string, version: string): InferenceError | undefined {
  try {
    catalogue.mustFind(model, version);
    return undefined;
  } catch (error) {
    if (error instanceof InferenceError) return error;
    throw error;
  }
}
