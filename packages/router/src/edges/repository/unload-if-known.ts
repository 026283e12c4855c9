import { InferenceError } from '@millrace/protocol';
import type { Management } from '../../management/management.ts';

/** Unloads a model for Triton's repository extension, where the unload of an unknown model succeeds and does nothing. */
export async function unloadIfKnown(management: Management, model: string, isWithDependents: boolean): Promise<void> {
  try {
    await management.unload(model, { isWithDependents });
  } catch (error) {
    if (!(error instanceof InferenceError) || error.code !== 'unknown-model') throw error;
  }
}
