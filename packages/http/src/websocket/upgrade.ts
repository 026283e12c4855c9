/** The opening handshake (RFC 6455, 4.2): a request becomes a WebSocket connection, or is refused with the reason. */
import { createHash } from 'node:crypto';
import type { HeaderList } from '../exchange.ts';
import type { ProtocolUpgrade } from '../wire/upgrade.ts';
import type { WireExchange, WireHandler } from '../wire/wire-exchange.ts';
import { resolveWebSocketLimits, type WebSocketLimitOptions, type WebSocketLimits } from './config.ts';
import { LiveWebSocket } from './connection.ts';
import type { OnWebSocket } from './websocket.ts';

export interface WebSocketOptions extends WebSocketLimitOptions {
  /** What the server supports, preferred ones first. A client that names none gets the first. */
  readonly subprotocols: readonly [string, ...string[]];
}

/** Options that were checked once, for all connections of an edge. */
export interface WebSocketConfig {
  readonly limits: WebSocketLimits;
  readonly subprotocols: readonly [string, ...string[]];
}

/** Throws a ConfigError that names every value out of range. */
export function resolveWebSocketConfig(options: WebSocketOptions): WebSocketConfig {
  return Object.freeze({ limits: resolveWebSocketLimits(options), subprotocols: options.subprotocols });
}

const version = '13';
/** 16 bytes in base64. */
const keyForm = /^[0-9A-Za-z+/]{21}[AQgw]==$/;
const tokenForm = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 6455, 1.3. */
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const versionField = ['sec-websocket-version', version] as const;

/**
 * Decides about a request for a path that is served by WebSocket, for an `OnUpgrade` of a server. Undefined: it asks
 * for another protocol. Host and origin were checked by the server's gate before.
 */
export function upgradeToWebSocket(
  exchange: WireExchange,
  config: WebSocketConfig,
  onWebSocket: OnWebSocket,
): ProtocolUpgrade | WireHandler | undefined {
  const { headers, method } = exchange;
  if (!listOf(headers.getAll('upgrade')).some((name) => name.toLowerCase() === 'websocket')) return undefined;
  if (method !== 'GET') return refusal(405, `a WebSocket is opened by GET, not by ${method}`, [['allow', 'GET']]);
  if (headers.get(versionField[0]) !== version) {
    return refusal(
      426,
      `this server speaks version ${version} of the WebSocket protocol; send Sec-WebSocket-Version: ${version}`,
      [versionField],
    );
  }
  const keys = headers.getAll('sec-websocket-key');
  const [key = ''] = keys;
  if (keys.length !== 1 || !keyForm.test(key)) {
    return refusal(400, 'Sec-WebSocket-Key must be sent once, with 16 random bytes in base64');
  }
  const offered = listOf(headers.getAll('sec-websocket-protocol'));
  if (!offered.every((name) => tokenForm.test(name)) || new Set(offered).size !== offered.length) {
    return refusal(400, 'Sec-WebSocket-Protocol must be a list of different names');
  }
  const { subprotocols } = config;
  const chosen = offered.length === 0 ? subprotocols[0] : subprotocols.find((name) => offered.includes(name));
  if (chosen === undefined) {
    return refusal(400, `no subprotocol of the request is supported; this server supports ${subprotocols.join(', ')}`);
  }
  const responseHead = switchingHead(key, offered.length === 0 ? undefined : chosen);
  return { take: (upgraded) => new LiveWebSocket(upgraded, config.limits, chosen, responseHead, onWebSocket) };
}

/** Answers a request for a path that is served by WebSocket only. */
export const requireWebSocket: WireHandler = refusal(
  426,
  'this path is served by WebSocket; open it with a WebSocket client',
  [versionField],
);

function switchingHead(key: string, subprotocol: string | undefined): string {
  const accept = createHash('sha1').update(key).update(acceptSuffix).digest('base64');
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'upgrade: websocket',
    'connection: Upgrade',
    `sec-websocket-accept: ${accept}`,
    ...(subprotocol === undefined ? [] : [`sec-websocket-protocol: ${subprotocol}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function refusal(status: number, reason: string, fields: HeaderList = []): WireHandler {
  const headers: HeaderList = [['content-type', 'text/plain'], ...fields];
  const body = Buffer.from(`${reason}\n`);
  return (exchange) => exchange.answer(status, headers, body, undefined, undefined);
}

function listOf(values: readonly string[]): string[] {
  return values.flatMap((value) => value.split(',').map((name) => name.trim())).filter((name) => name !== '');
}
