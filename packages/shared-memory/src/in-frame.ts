/**
 * Up to this size the tensors of a message are sent in it, above it in shared memory. Round trips of an identity model
 * in another process, typical, shared memory against in the message: 2 KiB 59 and 54 microseconds, 4 KiB 53 and 58, 16
 * KiB 55 and 71, 64 KiB 74 and 141, 600 KB 344 and 806.
 */
export const inFrameBytesMax = 4096;
