import { ConfigError, type ConfigProblem } from '@millrace/protocol';

/** What people write; everything is optional. */
export interface NodeHttpOptions {
  readonly host?: string;
  /** 0: any free port. */
  readonly port?: number;
  /** From the first byte of a request to the end of its header fields. */
  readonly headersTimeoutMs?: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestTimeoutMs?: number;
  /** How long a connection may stay open between two requests. */
  readonly keepAliveTimeoutMs?: number;
  /** How long a client may take nothing of an answer that waits for it. Answers that wait for their source are not meant. */
  readonly stallTimeoutMs?: number;
  /** Request line and header fields together. */
  readonly headerBytesMax?: number;
  readonly headerFieldsMax?: number;
  readonly connectionsMax?: number;
  /** How much of a body that the handler did not want is read and thrown away before the connection is cut instead. */
  readonly discardBytesMax?: number;
  /** Hears of failures that clients are not told about. */
  readonly onError?: (error: unknown) => void;
}

export type NodeHttpConfig = Required<NodeHttpOptions>;

export const nodeHttpDefaults: NodeHttpConfig = Object.freeze({
  host: '127.0.0.1',
  port: 0,
  headersTimeoutMs: 30_000,
  requestTimeoutMs: 300_000,
  keepAliveTimeoutMs: 75_000,
  stallTimeoutMs: 60_000,
  headerBytesMax: 16 * 1024,
  headerFieldsMax: 200,
  connectionsMax: 10_000,
  discardBytesMax: 64 * 1024 * 1024,
  onError: () => {},
});

const ranges: readonly (readonly [field: keyof NodeHttpOptions, min: number, max: number])[] = [
  ['port', 0, 65_535],
  ['headersTimeoutMs', 1, 86_400_000],
  ['requestTimeoutMs', 1, 86_400_000],
  ['keepAliveTimeoutMs', 1, 86_400_000],
  ['stallTimeoutMs', 1, 86_400_000],
  ['headerBytesMax', 1024, 1024 * 1024],
  ['headerFieldsMax', 1, 10_000],
  ['connectionsMax', 1, 1_000_000],
  ['discardBytesMax', 0, Number.MAX_SAFE_INTEGER],
];

/** Completes the options with defaults, or raises a `ConfigError` with everything that is wrong. */
export function resolveNodeHttpConfig(options: NodeHttpOptions): NodeHttpConfig {
  const config: NodeHttpConfig = { ...nodeHttpDefaults, ...definedOnly(options) };
  const problems: ConfigProblem[] = [];
  for (const [field, min, max] of ranges) {
    const value = config[field];
    if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max) {
      problems.push({
        source: 'http listener',
        field,
        message: `must be a whole number from ${min} to ${max}, not ${value}`,
      });
    }
  }
  if (config.headersTimeoutMs > config.requestTimeoutMs) {
    problems.push({
      source: 'http listener',
      field: 'headersTimeoutMs',
      message: `must not be above requestTimeoutMs (${config.requestTimeoutMs}), which includes it; lower one or raise the other`,
    });
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

function definedOnly(options: NodeHttpOptions): NodeHttpOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}
