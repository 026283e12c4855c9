/** Sends requests byte by byte as given, over their own socket, without what HTTP libraries add or correct. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

/** HTTP/1.1; `address` is a port on 127.0.0.1 or the path of a Unix socket. */
export async function rawCall(
  address: number | string,
  line: string,
  fields: Readonly<Record<string, string>>,
  body = '',
): Promise<RawAnswer> {
  const socket = typeof address === 'number' ? connect(address, '127.0.0.1') : connect(address);
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  const lines = Object.entries({ ...fields, 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close' });
  socket.write([line, ...lines.map(([name, value]) => `${name}: ${value}`), '', body].join('\r\n'));
  await once(socket, 'close');
  const text = Buffer.concat(pieces).toString();
  return { status: Number(/^HTTP\/1\.[01] (\d+)/.exec(text)?.[1]), text: text.slice(text.indexOf('\r\n\r\n') + 4) };
}

export interface RawRpcAnswer {
  readonly status: number;
  readonly grpcStatus: number;
  readonly message: string;
}

/** HTTP/2 with prior knowledge; the message is sent in the envelope of gRPC. */
export async function rawRpc(port: number, headers: OutgoingHttpHeaders, message: Uint8Array): Promise<RawRpcAnswer> {
  const session: ClientHttp2Session = connectHttp2(`http://127.0.0.1:${port}`);
  try {
    const stream = session.request({ ':method': 'POST', ':scheme': 'http', ...headers });
    const fields: Record<string, unknown> = {};
    stream.on('response', (head) => Object.assign(fields, head));
    stream.on('trailers', (trailers) => Object.assign(fields, trailers));
    const envelope = Buffer.alloc(5);
    envelope.writeUInt32BE(message.length, 1);
    stream.end(Buffer.concat([envelope, message]));
    stream.resume();
    await once(stream, 'close');
    return {
      status: Number(fields[':status']),
      grpcStatus: Number(fields['grpc-status']),
      message: decodeURIComponent(String(fields['grpc-message'] ?? '')),
    };
  } finally {
    session.close();
  }
}

/** Whether nobody listens there. */
export function isConnectionRefused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', (error) => resolve((error as NodeJS.ErrnoException).code === 'ECONNREFUSED'));
  });
}
