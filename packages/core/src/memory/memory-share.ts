/**
 * How much of the shared part an owner and a connection may hold. With S bytes in the part, F of them free, O held by the
 * owner and C by its connection, both counted in O and F:
 *
 *     the owner:       O <= B           where B = F * F / S
 *     the connection:  C <= (B - O) * (B - O) / B
 *
 * Whoever takes much must leave much free: a share shrinks with the square of the free bytes. The second rule is the
 * first one again, inside the owner's B, and contains it: with C = 0 it says O <= B.
 *
 * **Theorem: S / F <= 1 + (1 + d) * n** for n owners that hold anything, in whatever order they arrived, grew, shrank
 * and waited, where d is `overdraftShare`. Each owner adds at most 1 + d to S / F: that is all it can deny the others.
 *
 * Proof. Split what an owner holds into what was granted and its overdraft, each a holder of its own. Order the holders
 * by the last time they grew, and let F(i) be S less what the first i of them hold now, so F(0) = S. At that time holder i
 * held at most k * f * f / S, with f what was free then and k = 1 for a grant, k = d for an overdraft. The first i holders
 * have not grown since, so f <= F(i), and what it holds now is at most k * F(i)² / S. Hence F(i-1) <= F(i) + k * F(i)² / S,
 * which gives S / F(i) <= S / F(i-1) + k. The sum over all holders is the claim.
 *
 * **Corollary.** An owner never waits and is never refused while it holds at most S / (2 + (1 + d) * n)², n others holding
 * as much as they can; with one connection, while it holds 3/8 of that. (Let m = 1 + (1 + d) * n. Without it S / m is free at
 * least, and S / m - S / (m + 1)² >= S / (m + 1). The greatest C = O within a B is 0.38 * B.)
 *
 * A rule that lets an owner hold a fixed part of what is free (O <= F) halves F with each owner: ten of them leave a
 * thousandth. No rule that never takes memory back could promise everybody S / (n + 1): the first owners are granted
 * theirs before the last ones are known, and 1 + 1/2 + 1/3 + ... has no bound.
 */

/** An owner's overdraft is limited to this part of its share. */
export const overdraftShare = 1 / 4;

/**
 * How many bytes must be free for a connection that holds this much, of an owner that holds this much, to be within its
 * share.
 */
export function freeBytesNeeded(sharedBytes: number, connectionBytes: number, ownerBytes: number): number {
  return (Math.sqrt(sharedBytes) * (Math.sqrt(connectionBytes) + Math.sqrt(connectionBytes + 4 * ownerBytes))) / 2;
}

/** Whether a single level that holds this much leaves enough free. */
export function leavesEnough(partBytes: number, heldBytes: number, freeBytes: number): boolean {
  return freeBytes >= 0 && heldBytes * partBytes <= freeBytes * freeBytes;
}
