/** A WebSocket connection in memory that tests use frame by frame. */
import type { HttpLimitOptions } from '../../wire/config.ts';
import type { ServerMemory } from '../../wire/memory.ts';
import { unlimitedMemory } from '../../wire/memory.ts';
import { MemoryHost } from '../../wire/testing/memory-host.ts';
import { MemoryTransport } from '../../wire/testing/memory-transport.ts';
import { resolveWebSocketLimits, type WebSocketLimitOptions } from '../config.ts';
import { LiveWebSocket } from '../connection.ts';
import type { WebSocketConnection, WebSocketHandler } from '../websocket.ts';
import { serverFrames, told } from './frames.ts';

export interface ConversationOptions extends WebSocketLimitOptions {
  readonly http?: HttpLimitOptions;
  readonly memory?: ServerMemory;
  /** Takes the place of these methods of a handler that notes what it is told. */
  readonly handler?: (connection: WebSocketConnection) => Partial<WebSocketHandler>;
}

export function converseWebSocket(options: ConversationOptions = {}) {
  const host = new MemoryHost(() => {}, options.http ?? {});
  const transport = new MemoryTransport();
  const memory = options.memory ?? unlimitedMemory;
  /** What the application was told: `text hello`, `binary 3`, `drain`, `going away`, `closed 1000 reason`. */
  const heard: string[] = [];
  let releases = 0;
  const upgraded = {
    host,
    transport,
    memory: memory.connection(transport.peer.owner),
    release: () => {
      releases++;
    },
  };
  const connection = new LiveWebSocket(upgraded, resolveWebSocketLimits(options), 'test', '', (opened) => ({
    onMessage: (data, isBinary) =>
      heard.push(isBinary ? `binary ${data.length}` : `text ${Buffer.from(data).toString()}`),
    onDrain: () => heard.push('drain'),
    onGoingAway: () => heard.push('going away'),
    onClose: (code, reason) => heard.push(`closed ${code} ${reason}`.trim()),
    ...options.handler?.(opened),
  }));
  return {
    host,
    transport,
    connection,
    heard,
    releases: () => releases,
    receive: (...frames: Uint8Array[]) => connection.receive(Buffer.concat(frames)),
    /** The frames that were sent since the last call. */
    said: (): string[] => {
      host.settle();
      return serverFrames(transport.take()).map(told);
    },
  };
}
