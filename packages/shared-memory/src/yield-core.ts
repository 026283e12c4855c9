import { systemCalls } from './system-calls.ts';

/**
 * Offers the core of this thread to others, and returns when it has it again. Undefined where that is not available. (Here because
 * it needs the C library.)
 */
export function takeYieldCore(): (() => void) | undefined {
  try {
    const { yieldCore } = systemCalls();
    return yieldCore() === 0 ? yieldCore : undefined;
  } catch {
    // Another system, or no binary of koffi.
    return undefined;
  }
}
