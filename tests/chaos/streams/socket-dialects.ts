/** WebSocket `/v1/streams` with both subprotocols. */
import { errorCatalogue } from '@millrace/protocol';
import { WebSocket } from 'ws';
import type { StreamDialect } from './dialect.ts';
import { type FrameCodec, jsonCodec, protobufCodec } from './frame-codec.ts';

export const socketJson: StreamDialect = socketDialect('websocket json', 'millrace.v1+json', jsonCodec);
export const socketProtobuf: StreamDialect = socketDialect('websocket proto', 'millrace.v1+proto', protobufCodec);

function socketDialect(name: string, subprotocol: string, codec: FrameCodec): StreamDialect {
  const isText = codec === jsonCodec;
  return {
    name,
    hasOneInput: false,
    connect(address, open, listener) {
      const socket = new WebSocket(`ws://${address}/v1/streams`, [subprotocol]);
      let isOpen = false;
      let isOver = false;
      const write = (bytes: Buffer): void => socket.send(isText ? bytes.toString() : bytes);
      socket.on('open', () => {
        isOpen = true;
        write(codec.encode(open));
      });
      socket.on('message', (data: Buffer) => {
        if (!isOver) listener.onFrame(codec.decode(data));
      });
      socket.on('error', () => {});
      socket.on('close', (code: number, reason: Buffer) => {
        if (isOver) return;
        isOver = true;
        listener.onClosed(codeFromReason(reason.toString()), `${code} ${reason}`);
      });
      return {
        send: (frame) => {
          if (isOpen && !isOver) write(codec.encode(frame));
        },
        close: () => {
          isOver = true;
          socket.terminate();
        },
      };
    },
  };
}

/** The server writes the code of an error before its message. Empty: the connection was lost, or closed without an error. */
function codeFromReason(reason: string): string {
  const [code = ''] = reason.split(':', 1);
  return code in errorCatalogue ? code : '';
}
