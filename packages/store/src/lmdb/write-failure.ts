import { StoreError } from '../store-error.ts';

/** What a failed transaction says to the caller. In a file of its own, since whoever needs it may not have loaded lmdb. */
export function writeFailure(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreError('store-failed', `the change could not be written to disk: ${reason}`, { cause: error });
}
