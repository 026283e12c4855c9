import { ConfigError, type ConfigProblem } from '@millrace/protocol';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** What an operator may set of the memory that requests hold. Sizes in bytes. */
export interface MemoryOptions {
  /** Bodies, messages, unpacked data, queued work and unsent answers of all requests together. */
  readonly bytesMax?: number | undefined;
  /** The largest body: so much is kept free for the request that has waited longest. */
  readonly bodyBytesMax?: number | undefined;
}

export interface MemoryLimits {
  /** What any request may use, by fair shares. */
  readonly sharedBytes: number;
  /** Set aside for small requests: large ones cannot take it. */
  readonly smallBytes: number;
  /** Set aside for the one request that has waited longest, so that requests that wait for each other end. */
  readonly completionBytes: number;
  /** A request that holds no more than this is small. */
  readonly smallRequestBytesMax: number;
  /** What an owner may hold beyond its share: bytes that were on their way when it was asked to wait. */
  readonly overdraftBytesMax: number;
}

export const memoryBytesMaxDefault = 2048 * mebibyte;
const smallRequestBytesMax = 64 * kibibyte;
const overdraftBytesMax = 32 * mebibyte;
/** A growing buffer is copied into one that is larger: while that happens a body takes more than its size. */
const growthFactor = 1.25;
/** Of all memory, for small requests. */
const smallShare = 1 / 16;
/** What must be left for everybody when both reserves are set aside. */
const sharedShareMin = 1 / 2;

/** Divides the memory, or raises a `ConfigError` where the largest body would not fit. */
export function resolveMemoryLimits(options: MemoryOptions = {}): MemoryLimits {
  const { bytesMax = memoryBytesMaxDefault, bodyBytesMax = 256 * mebibyte } = options;
  const smallBytes = Math.floor(bytesMax * smallShare);
  const completionBytes = Math.ceil(bodyBytesMax * growthFactor);
  const sharedBytes = bytesMax - smallBytes - completionBytes;
  const problems: ConfigProblem[] = [];
  if (!Number.isSafeInteger(bytesMax) || bytesMax <= 0) {
    problems.push({ source: 'memory', field: 'bytesMax', message: `must be a whole number of bytes, not ${bytesMax}` });
  } else if (sharedBytes < bytesMax * sharedShareMin) {
    const neededMin = Math.ceil(completionBytes / (1 - sharedShareMin - smallShare));
    const message = `is ${bytesMax} bytes, too little for bodies of ${bodyBytesMax} bytes: allow ${neededMin} bytes, or smaller bodies`;
    problems.push({ source: 'memory', field: 'bytesMax', message });
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return { sharedBytes, smallBytes, completionBytes, smallRequestBytesMax, overdraftBytesMax };
}
