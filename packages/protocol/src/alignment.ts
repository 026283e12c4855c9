/** Where tensors begin in memory that is shared. What frames look like on the wire is said in `dispatch/frame-layout.ts`. */

/** No element is larger: a tensor that begins at a multiple of it can be seen as elements without a copy. */
const elementBytesMax = 8;
const cacheLineBytes = 64;

/** For tensors that follow each other closely. */
export function alignedToElement(bytes: number): number {
  return Math.ceil(bytes / elementBytesMax) * elementBytesMax;
}

/** For tensors that an engine reads: no two of them share a cache line. */
export function alignedToCacheLine(bytes: number): number {
  return Math.ceil(bytes / cacheLineBytes) * cacheLineBytes;
}
