import { ConfigError } from '@millrace/protocol';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Options of the memory that requests hold. Sizes in bytes. */
export interface MemoryOptions {
  /**
   * Bodies, messages, decompressed data, queued work and unsent answers of all requests together. 0: 2 GiB, or more
   * where bodies of `bodyBytesMax` need it.
   */
  readonly bytesMax?: number | undefined;
  /** The largest body: this much is reserved for the request that has waited longest. */
  readonly bodyBytesMax?: number | undefined;
}

export interface MemoryLimits {
  /** What any request may use, by fair shares. */
  readonly sharedBytes: number;
  /** Reserved for small requests: large ones cannot take it. */
  readonly smallBytes: number;
  /** Reserved for the one request that has waited longest, so that requests that wait for each other finish. */
  readonly completionBytes: number;
  /** A request that holds no more than this is small. */
  readonly smallRequestBytesMax: number;
  /**
   * What the waiting leases of an owner may take beyond its share: bytes that were in transit when they were told to
   * wait. It is less when little is free (`overdraftShare`).
   */
  readonly overdraftBytesMax: number;
}

export const memoryBytesMaxDefault = 2048 * mebibyte;
const bodyBytesMaxDefault = 256 * mebibyte;
const smallRequestBytesMax = 64 * kibibyte;
const overdraftBytesMax = 32 * mebibyte;
/** A growing buffer is copied into a larger one: during the copy a body takes more than its size. */
const growthFactor = 1.25;
/** Share of all memory that is reserved for small requests. */
const smallShare = 1 / 16;
/** Share that must be left for all requests beside both reserves. */
const sharedShareMin = 1 / 2;

/** The least memory with which bodies of this size may be accepted. */
export function memoryBytesMinFor(bodyBytesMax: number): number {
  return Math.ceil(completionBytesFor(bodyBytesMax) / (1 - sharedShareMin - smallShare));
}

function completionBytesFor(bodyBytesMax: number): number {
  return Math.ceil(bodyBytesMax * growthFactor);
}

/** Divides the memory, or throws a `ConfigError` where the largest body would not fit. */
export function resolveMemoryLimits(options: MemoryOptions = {}): MemoryLimits {
  const { bytesMax: bytesMaxWritten = 0, bodyBytesMax = bodyBytesMaxDefault } = options;
  if (!Number.isSafeInteger(bodyBytesMax) || bodyBytesMax <= 0) {
    const message = `must be a whole number of bytes above 0, not ${bodyBytesMax}`;
    throw new ConfigError([{ source: 'memory', field: 'bodyBytesMax', message }]);
  }
  const bytesMin = memoryBytesMinFor(bodyBytesMax);
  const bytesMax = bytesMaxWritten === 0 ? Math.max(memoryBytesMaxDefault, bytesMin) : bytesMaxWritten;
  if (!Number.isSafeInteger(bytesMax) || bytesMax < bytesMin) {
    const message = `must be a whole number of at least ${bytesMin} bytes for bodies of up to ${bodyBytesMax} bytes, not ${bytesMax}`;
    throw new ConfigError([{ source: 'memory', field: 'bytesMax', message }]);
  }
  const smallBytes = Math.floor(bytesMax * smallShare);
  const completionBytes = completionBytesFor(bodyBytesMax);
  const sharedBytes = bytesMax - smallBytes - completionBytes;
  return { sharedBytes, smallBytes, completionBytes, smallRequestBytesMax, overdraftBytesMax };
}
