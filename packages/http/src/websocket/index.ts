export { resolveWebSocketLimits, type WebSocketLimitOptions, type WebSocketLimits, webSocketLimits } from './config.ts';
export { closeCode } from './protocol.ts';
export {
  requireWebSocket,
  resolveWebSocketConfig,
  upgradeToWebSocket,
  type WebSocketConfig,
  type WebSocketOptions,
} from './upgrade.ts';
export type { OnWebSocket, WebSocketConnection, WebSocketHandler } from './websocket.ts';
