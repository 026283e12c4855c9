/**
 * Up to this size a tensor travels in its message, above it in shared memory.
 */
export const inFrameBytesMax = 8192;
