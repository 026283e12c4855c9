import { expect } from 'vitest';
import type { StoreErrorCode } from '../store-error.ts';

/** Matches a `StoreError` with this code whose message contains the text. */
export function storeRefusal(code: StoreErrorCode, message: string): unknown {
  return expect.objectContaining({ name: 'StoreError', code, message: expect.stringContaining(message) });
}
