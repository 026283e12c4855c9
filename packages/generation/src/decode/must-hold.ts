/** States an invariant of the scheduler. A failure is a bug in the program: nobody catches it. */
export function mustHold(claim: boolean, message: string): asserts claim {
  if (!claim) throw new Error(`invariant broken: ${message}`);
}
