const offset = 0x811c9dc5;
const prime = 0x01000193;

/**
 * A number from 0 to below 1 that depends on the id alone: steps of one sequence, which share state, must draw the
 * same version. A number and the text of its digits are different ids.
 */
export function stableDraw(id: bigint | string): number {
  const text = `${typeof id} ${id}`;
  let hash = offset;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), prime);
  // Consecutive ids differ in their last bits only: mix those into all bits.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
