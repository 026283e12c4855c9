/** The outcome of a copy of a request. `dropped`: too many copies were in flight; `unchecked`: answered, but too large to compare. */
export type ShadowOutcome = 'equal' | 'different' | 'unchecked' | 'failed' | 'dropped';
export const shadowOutcomes: readonly ShadowOutcome[] = ['equal', 'different', 'unchecked', 'failed', 'dropped'];
