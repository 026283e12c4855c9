/** A client for the exchange contract that speaks HTTP/2 by `node:http2`, one session for all calls. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type SecureClientSessionOptions } from 'node:http2';
import type { HttpServer } from '../exchange.ts';
import type { ContractCall, ContractReply, ContractServer, SlowReply } from './subject.ts';

export function contractServerOverHttp2(server: HttpServer, tls?: SecureClientSessionOptions): ContractServer {
  const session = connect(`${tls === undefined ? 'http' : 'https'}://${server.host}:${server.port}`, tls ?? {});
  session.on('error', () => {});
  return {
    call: async (call) => {
      const stream = open(session, call);
      const { status, headers } = await headOf(stream);
      const trailers = new Map<string, string>();
      stream.on('trailers', (fields) => {
        for (const [name, value] of Object.entries(fields)) trailers.set(name, String(value));
      });
      const body = await bodyOf(stream);
      return { status, headers, body, trailers };
    },
    callSlowly: async (call) => {
      const stream = open(session, call);
      const { status } = await headOf(stream);
      return slowReplyFrom(stream, status);
    },
    close: async () => {
      session.destroy();
      await server.close();
    },
  };
}

function open(session: ClientHttp2Session, call: ContractCall): ClientHttp2Stream {
  const fields: Record<string, string | string[]> = { ':method': call.method ?? 'GET', ':path': call.target };
  for (const [name, value] of call.headers ?? []) {
    const key = name === 'host' ? ':authority' : name;
    const before = fields[key];
    fields[key] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  const { body } = call;
  if (body instanceof Uint8Array) fields['content-length'] = String(body.byteLength);
  const stream = session.request(fields, {
    endStream: body === undefined,
    waitForTrailers: call.trailers !== undefined,
  });
  stream.on('error', () => {});
  stream.on('wantTrailers', () => stream.sendTrailers(Object.fromEntries(call.trailers ?? [])));
  call.hangUp?.onCancel(() => stream.destroy(new Error('the client hung up')));
  if (body instanceof Uint8Array) stream.end(body);
  else if (body !== undefined) void sendPieces(stream, body);
  return stream;
}

async function sendPieces(stream: ClientHttp2Stream, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of body) {
    if (stream.destroyed) return;
    if (!stream.write(piece)) await drained(stream);
  }
  stream.end();
}

function drained(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const goOn = () => {
      stream.off('drain', goOn);
      stream.off('close', goOn);
      resolve();
    };
    stream.on('drain', goOn);
    stream.on('close', goOn);
  });
}

function headOf(stream: ClientHttp2Stream): Promise<Pick<ContractReply, 'status' | 'headers'>> {
  return new Promise((resolve, reject) => {
    stream.once('response', (fields) => {
      const headers = new Map(Object.entries(fields).map(([name, value]) => [name, String(value)]));
      resolve({ status: Number(fields[':status']), headers });
    });
    stream.once('error', reject);
    stream.once('close', () => reject(new Error('the stream closed without an answer')));
  });
}

async function bodyOf(stream: ClientHttp2Stream): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

function slowReplyFrom(stream: ClientHttp2Stream, status: number): SlowReply {
  return { status, readAll: () => bodyOf(stream), hangUp: () => stream.close() };
}
