/** Alignment of tensors in shared memory. The wire format of frames is defined in `dispatch/frame-layout.ts`. */

/** No element is larger: a tensor at a multiple of this offset can be viewed as elements without a copy. */
const elementBytesMax = 8;
const cacheLineBytes = 64;

/** Alignment of tensors that are packed closely. */
export function alignedToElement(bytes: number): number {
  return Math.ceil(bytes / elementBytesMax) * elementBytesMax;
}

/** Alignment of tensors that an engine reads: no two of them share a cache line. */
export function alignedToCacheLine(bytes: number): number {
  return Math.ceil(bytes / cacheLineBytes) * cacheLineBytes;
}
