import { systemCalls } from './system-calls.ts';

/**
 * Lets other threads have the core of this one, if any of them wants it. Undefined where the call is not available. (Here because
 * it needs the C library.)
 */
export function takeYieldCore(): (() => void) | undefined {
  try {
    return systemCalls().yieldCore;
  } catch {
    // Another system, or no binary of koffi.
    return undefined;
  }
}
