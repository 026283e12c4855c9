/** Durable streams over WebSocket, on the ports of REST and gRPC. */
import type { OnUpgrade } from '@millrace/http';
import { resolveWebSocketConfig, upgradeToWebSocket } from '@millrace/http/websocket';
import type { CallerRule } from '../caller.ts';
import type { Route } from '../routing/route.ts';
import { defaultStreamFrameLimits } from '../streams/frame-limits.ts';
import { streamSocketPath, streamSocketRoute } from './routes.ts';
import { StreamSocket, type StreamSocketParts } from './stream-socket.ts';
import { streamSubprotocols } from './subprotocols.ts';

export interface WebSocketEdgeParts extends StreamSocketParts {
  readonly callers: CallerRule;
}

interface WebSocketEdge {
  readonly onUpgrade: OnUpgrade;
  /** For requests that ask for no upgrade. */
  readonly routes: readonly Route[];
}

export function createWebSocketEdge(parts: WebSocketEdgeParts): WebSocketEdge {
  const config = resolveWebSocketConfig({
    subprotocols: streamSubprotocols,
    messageBytesMax: defaultStreamFrameLimits.frameBytesMax,
  });
  return {
    onUpgrade: (exchange) => {
      if (exchange.path !== streamSocketPath) return undefined;
      const caller = { caller: parts.callers.callerOf(exchange.headers, exchange.peer), principal: '' };
      return upgradeToWebSocket(exchange, config, (connection) => new StreamSocket(connection, caller, parts));
    },
    routes: [streamSocketRoute],
  };
}
