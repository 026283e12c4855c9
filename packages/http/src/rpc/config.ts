import { ConfigError, type ConfigProblem } from '@millrace/protocol';

interface LimitRule {
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

const mebibyte = 1024 * 1024;
/** The most that an envelope's length field and a buffer can hold. */
const messageBytesMaxMax = 2 ** 31 - 1;

export const rpcLimits = {
  /** The largest message a caller may send, both compressed and decompressed; a larger one is `resource_exhausted`. */
  receiveBytesMax: { default: 64 * mebibyte, min: 1, max: messageBytesMaxMax },
  /** The largest message a handler may send. */
  sendBytesMax: { default: messageBytesMaxMax, min: 1, max: messageBytesMaxMax },
  /** Messages of one streaming call that may wait for its handler before back-pressure is applied to the caller. */
  waitingMessagesMax: { default: 16, min: 1, max: 65_536 },
  /** Their bytes on the wire, likewise; one message may exceed this. */
  waitingBytesMax: { default: mebibyte, min: 1, max: messageBytesMaxMax },
  /** Up to this size a compressed message is decompressed synchronously, above it off the event loop. */
  decompressSyncBytesMax: { default: 16 * 1024, min: 0, max: 16 * mebibyte },
  /** How many larger ones are decompressed at the same time; others wait, and their callers take turns. */
  unpackingsMax: { default: 2, min: 1, max: 1024 },
  /** Messages smaller than this are sent uncompressed: they would hardly shrink. */
  compressBytesMin: { default: 512, min: 0, max: messageBytesMaxMax },
  /** Messages larger than this are sent uncompressed: compressing them takes longer than sending them. */
  compressBytesMax: { default: mebibyte, min: 0, max: messageBytesMaxMax },
  /**
   * Up to this size a message is compressed synchronously. A larger answer is compressed off the event loop; a larger
   * message of a stream, which others may follow, is sent uncompressed.
   */
  compressSyncBytesMax: { default: 64 * 1024, min: 0, max: 16 * mebibyte },
  /** How many larger answers are compressed at the same time; others wait, and their callers take turns. */
  packingsMax: { default: 2, min: 1, max: 1024 },
  /** Compression level of sent messages: 1 is fastest, 9 smallest. */
  compressionLevel: { default: 1, min: 1, max: 9 },
} as const satisfies Record<string, LimitRule>;

export type RpcLimits = { readonly [Name in keyof typeof rpcLimits]: number };
export type RpcLimitOptions = { readonly [Name in keyof typeof rpcLimits]?: number | undefined };

/** Fills in defaults; throws a ConfigError that names every value out of range. */
export function resolveRpcLimits(options: RpcLimitOptions): RpcLimits {
  const problems: ConfigProblem[] = [];
  const limits: Record<string, number> = {};
  for (const [name, rule] of Object.entries<LimitRule>(rpcLimits)) {
    const value = options[name as keyof RpcLimitOptions] ?? rule.default;
    if (Number.isInteger(value) && value >= rule.min && value <= rule.max) limits[name] = value;
    else {
      const message = `must be a whole number from ${rule.min} to ${rule.max}, not ${value}`;
      problems.push({ source: 'rpc options', field: name, message });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(limits) as RpcLimits;
}
