/**
 * States an invariant. A failure is a bug in the program, never of a request: nobody catches it. The message is a
 * constant, so that a check that holds costs one comparison.
 */
export function assert(claim: boolean, message: string): asserts claim {
  if (!claim) throw new Error(`invariant broken: ${message}`);
}
