/** The options of a server, with defaults and ranges; everything that could grow has its limit here. */
import { ConfigError, type ConfigProblem } from '@millrace/protocol';

interface LimitRule {
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

const unlimited = Number.POSITIVE_INFINITY;
const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Times in milliseconds, sizes in bytes. Where `Infinity` is allowed, it disables the limit. */
export const httpLimits = {
  /** Open connections; at the limit an idle one is closed for a new one, or the new one is refused. */
  connectionsMax: { default: 10_000, min: 1, max: unlimited },
  /** Open connections from one address, or one IPv6 /64 network. */
  connectionsPerAddressMax: { default: 1_000, min: 1, max: unlimited },
  /** TLS handshakes in progress. */
  handshakesMax: { default: 2_000, min: 1, max: unlimited },
  /** TLS handshakes in progress from one address. */
  handshakesPerAddressMax: { default: 500, min: 1, max: unlimited },
  /** How far operator ports may exceed these limits, so that a full server can still be inspected. */
  operatorConnections: { default: 16, min: 0, max: 10_000 },
  /** How long a connection has been idle, or a handshake in progress, before it may be closed for a new one. */
  evictionIdleMsMin: { default: 2_000, min: 0, max: unlimited },
  /** From accepting the connection to the first byte of a request, the TLS handshake included. */
  prefaceMsMax: { default: 10_000, min: 100, max: unlimited },
  /** From the first byte of a request's head to its last. */
  headMsMax: { default: 15_000, min: 100, max: unlimited },
  /** A request's head: the HTTP/1.1 text, or the compressed HTTP/2 header block. */
  headBytesMax: { default: 32 * kibibyte, min: kibibyte, max: 16 * mebibyte },
  /** All fields of a request, or of its trailers, together, as RFC 9113 counts them: their bytes and 32 for each. */
  headerListBytesMax: { default: 48 * kibibyte, min: kibibyte, max: 16 * mebibyte },
  /** How many fields a request, or its trailers, may have. */
  headerFieldsMax: { default: 256, min: 8, max: 100_000 },
  /** CONTINUATION frames of one header block. */
  continuationFramesMax: { default: 32, min: 1, max: 10_000 },
  /** How often the rate of an awaited body is checked. */
  bodyStallMsMax: { default: 30_000, min: 100, max: unlimited },
  /**
   * What a body must bring in each second on average between checks, in bytes of content, while all of it or the rest
   * of a message is awaited. Between the messages of a stream nothing is.
   */
  bodyBytesPerSecondMin: { default: 512, min: 0, max: unlimited },
  /** How long such a body may take in total while it is awaited. */
  bodyMsMax: { default: unlimited, min: 100, max: unlimited },
  /** How long a request may wait for memory because its owner holds its share; then it is refused. */
  memoryWaitMsMax: { default: 10_000, min: 100, max: unlimited },
  /**
   * How often the client's reading rate is checked while output waits for it; reading nothing between two checks ends
   * it.
   */
  responseStallMsMax: { default: 60_000, min: 100, max: unlimited },
  /** What it must read in each second on average between checks. */
  responseBytesPerSecondMin: { default: 240, min: 0, max: unlimited },
  /** How long a connection without a request is kept. */
  idleMsMax: { default: 300_000, min: 100, max: unlimited },
  /** HTTP/2 and WebSocket: silence after which the client is pinged. */
  keepAlivePingMs: { default: 60_000, min: 100, max: unlimited },
  /** HTTP/2 and WebSocket: how long the answer to that ping may take. */
  keepAliveTimeoutMs: { default: 20_000, min: 100, max: unlimited },
  /** HTTP/2: a client that pings more often than this while nothing is sent to it gets a strike. */
  pingIntervalMsMin: { default: 10_000, min: 0, max: unlimited },
  /** HTTP/2: strikes a client may have; the next one is answered with `too_many_pings`. */
  pingStrikesMax: { default: 2, min: 0, max: unlimited },
  /** Age at which a connection is drained; its requests may finish. */
  connectionAgeMsMax: { default: unlimited, min: 100, max: unlimited },
  /** How long they may take after that. */
  connectionAgeGraceMs: { default: 30_000, min: 100, max: unlimited },
  /** HTTP/2: concurrent requests on a connection; cancelled ones count until their handler has finished. */
  streamsMax: { default: 256, min: 1, max: 65_536 },
  /** Body bytes of one request that may wait for the application. */
  streamWindowBytes: { default: mebibyte, min: 65_535, max: 2 ** 31 - 1 },
  /** HTTP/2: body bytes of all requests of a connection that may wait for the application. */
  connectionWindowBytes: { default: 2 * mebibyte, min: 65_535, max: 2 ** 31 - 1 },
  /** HTTP/2: the largest frame a client may send. */
  frameBytesMax: { default: 16_384, min: 16_384, max: 2 ** 24 - 1 },
  /**
   * Unsent bytes of a connection above which it takes no more from the application, and at twice which it stops
   * reading. Not below the socket's own high-water mark, because its drain event is what resumes output.
   */
  outputBytesMax: { default: 256 * kibibyte, min: 64 * kibibyte, max: unlimited },
  /** HTTP/2: streams a client may reset, or cause us to reset, in a burst and then per second. */
  resetsBurstMax: { default: 500, min: 1, max: unlimited },
  resetsPerSecondMax: { default: 50, min: 1, max: unlimited },
  /** HTTP/2: frames that advance no request; WebSocket: control frames. In a burst and then per second. */
  controlFramesBurstMax: { default: 2_000, min: 10, max: unlimited },
  controlFramesPerSecondMax: { default: 500, min: 1, max: unlimited },
  /** HTTP/1.1: how many bytes of an unread body are discarded to keep the connection open. */
  discardBytesMax: { default: mebibyte, min: 0, max: unlimited },
} as const satisfies Record<string, LimitRule>;

export type HttpLimits = { readonly [Name in keyof typeof httpLimits]: number };
export type HttpLimitOptions = { readonly [Name in keyof typeof httpLimits]?: number | undefined };

/** Fills in defaults; throws a ConfigError that names every value out of range. */
export function resolveHttpLimits(options: HttpLimitOptions): HttpLimits {
  const problems: ConfigProblem[] = [];
  const limits: Record<string, number> = {};
  for (const [name, rule] of Object.entries<LimitRule>(httpLimits)) {
    const value = options[name as keyof HttpLimitOptions] ?? rule.default;
    const isWhole = Number.isInteger(value) || value === unlimited;
    if (isWhole && value >= rule.min && value <= rule.max) limits[name] = value;
    else {
      const range = `a whole number from ${rule.min} to ${rule.max}`;
      problems.push({ source: 'http options', field: name, message: `must be ${range}, not ${value}` });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(limits) as HttpLimits;
}
