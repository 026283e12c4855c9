/** Limits of WebSocket connections beyond those of HTTP, which hold for them too. */
import { ConfigError, type ConfigProblem } from '@millrace/protocol';

interface LimitRule {
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

const mebibyte = 1024 * 1024;

export const webSocketLimits = {
  /** The largest message a client may send, its fragments together; a larger one closes with 1009, at its announcement. */
  messageBytesMax: { default: 16 * mebibyte, min: 125, max: 2 ** 31 - 1 },
  /** How many fragments a message may have; more close with 1008. */
  fragmentsMax: { default: 1024, min: 1, max: 2 ** 20 },
  /** How long the client may take to answer a close frame, in milliseconds; then the connection is closed without. */
  closeMsMax: { default: 5000, min: 100, max: 600_000 },
} as const satisfies Record<string, LimitRule>;

export type WebSocketLimits = { readonly [Name in keyof typeof webSocketLimits]: number };
export type WebSocketLimitOptions = { readonly [Name in keyof typeof webSocketLimits]?: number | undefined };

/** Fills in defaults; throws a ConfigError that names every value out of range. */
export function resolveWebSocketLimits(options: WebSocketLimitOptions): WebSocketLimits {
  const problems: ConfigProblem[] = [];
  const limits: Record<string, number> = {};
  for (const [name, rule] of Object.entries<LimitRule>(webSocketLimits)) {
    const value = options[name as keyof WebSocketLimitOptions] ?? rule.default;
    if (Number.isInteger(value) && value >= rule.min && value <= rule.max) limits[name] = value;
    else {
      const message = `must be a whole number from ${rule.min} to ${rule.max}, not ${value}`;
      problems.push({ source: 'websocket options', field: name, message });
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(limits) as WebSocketLimits;
}
