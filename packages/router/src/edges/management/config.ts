import { ConfigError, type ConfigProblem } from '@millrace/protocol';

/** The options of the management edge; all are optional. */
export interface ManagementOptions {
  /** A body that brings no files, as sent and again after decompression. */
  readonly changeBytesMax?: number;
  /** A body that may bring files, likewise. */
  readonly loadBytesMax?: number;
  /** Labels in one change of a model's traffic. */
  readonly labelsMax?: number;
  /** Versions in one split, or in one list of shadows. */
  readonly versionsMax?: number;
  /** Interval between two messages to a watcher of the queues. */
  readonly watchIntervalMsMin?: number;
  readonly watchIntervalMsMax?: number;
  /** Callers that watch the queues at once. */
  readonly watchersMax?: number;
  /** Streams of one page, and those of a page whose size the caller does not name. */
  readonly streamsPerPageMax?: number;
  readonly streamsPerPageDefault?: number;
  /** Up to this size a body is decompressed at once, above it off the event loop. */
  readonly zlibSyncBytesMax?: number;
  /** Bodies that are decompressed off the event loop at once; others wait. */
  readonly unpackingsMax?: number;
  /** What `retry-after` says where the error catalogue advises a later attempt. */
  readonly retryAfterSeconds?: number;
}

export type ManagementConfig = Required<ManagementOptions>;

const mebibyte = 1024 * 1024;
const bytesMaxMax = 2 ** 31 - 1;
const dayMs = 86_400_000;

interface LimitRule {
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

export const managementLimits = {
  changeBytesMax: { default: mebibyte / 4, min: 1, max: bytesMaxMax },
  loadBytesMax: { default: 256 * mebibyte, min: 1, max: bytesMaxMax },
  labelsMax: { default: 64, min: 1, max: 65_536 },
  versionsMax: { default: 64, min: 1, max: 65_536 },
  watchIntervalMsMin: { default: 100, min: 1, max: dayMs },
  watchIntervalMsMax: { default: 60_000, min: 1, max: dayMs },
  watchersMax: { default: 64, min: 1, max: 65_536 },
  streamsPerPageMax: { default: 1000, min: 1, max: 10_000 },
  streamsPerPageDefault: { default: 100, min: 1, max: 10_000 },
  zlibSyncBytesMax: { default: 16 * 1024, min: 0, max: 16 * mebibyte },
  unpackingsMax: { default: 1, min: 1, max: 1024 },
  retryAfterSeconds: { default: 1, min: 0, max: 86_400 },
} as const satisfies Record<keyof ManagementOptions, LimitRule>;

/** Completes the options with defaults, or raises a `ConfigError` with everything that is wrong. */
export function resolveManagementConfig(options: ManagementOptions): ManagementConfig {
  const problems: ConfigProblem[] = [];
  const limits: Record<string, number> = {};
  for (const [name, rule] of Object.entries<LimitRule>(managementLimits)) {
    const value = options[name as keyof ManagementOptions] ?? rule.default;
    if (Number.isInteger(value) && value >= rule.min && value <= rule.max) limits[name] = value;
    else {
      const message = `must be a whole number from ${rule.min} to ${rule.max}, not ${value}`;
      problems.push({ source: 'management options', field: name, message });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(limits) as unknown as ManagementConfig;
}
