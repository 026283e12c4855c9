/** A client of durable streams over WebSocket, frame by frame. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { repositoryRoot } from './repository-root.ts';

/** A frame as its JSON: an object with one key, the name of the frame. */
export type FrameObject = Readonly<Record<string, Record<string, unknown>>>;

export interface SocketClosing {
  readonly code: number;
  readonly reason: string;
}

export interface SocketOptions {
  /** Empty: none is offered. */
  readonly subprotocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

interface MessageType {
  fromObject(value: unknown): unknown;
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  toObject(message: unknown, options: object): FrameObject;
}

const protobuf = createRequire(import.meta.url)('protobufjs') as {
  loadSync(file: string): { lookupType(name: string): MessageType };
};
const contract = protobuf.loadSync(join(repositoryRoot, 'proto/millrace/v1/inference.proto'));
const clientFrame = contract.lookupType('millrace.v1.ClientFrame');
const serverFrame = contract.lookupType('millrace.v1.ServerFrame');

export const jsonFrames = 'millrace.v1+json';
export const protoFrames = 'millrace.v1+proto';

export class StreamSocketClient {
  readonly socket: WebSocket;
  /** Every frame so far. */
  readonly frames: FrameObject[] = [];
  readonly closed: Promise<SocketClosing>;
  #wake: () => void = () => {};
  #closing: SocketClosing | undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      this.frames.push(isBinary ? fromProto(data) : (JSON.parse(data.toString()) as FrameObject));
      this.#wake();
    });
    socket.on('error', () => {});
    this.closed = new Promise((resolve) =>
      socket.once('close', (code: number, reason: Buffer) => {
        this.#closing = { code, reason: reason.toString() };
        this.#wake();
        resolve(this.#closing);
      }),
    );
  }

  /** Rejects with the answer's status and body where the server refuses the upgrade. */
  static connect(url: string, { subprotocols = [jsonFrames], headers = {} }: SocketOptions = {}) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/streams`, subprotocols, { headers });
    const client = new StreamSocketClient(socket);
    return new Promise<StreamSocketClient>((resolve, reject) => {
      socket.once('open', () => resolve(client));
      socket.once('unexpected-response', (_request: unknown, response: NodeJS.ReadableStream & Answer) => {
        response.setEncoding('utf8');
        let body = '';
        response.on('data', (piece: string) => {
          body += piece;
        });
        response.once('end', () => reject(new Error(`${response.statusCode} ${body}`)));
      });
      socket.once('error', reject);
    });
  }

  send(frame: FrameObject): void {
    if (this.socket.protocol === protoFrames) this.socket.send(toProto(frame));
    else this.socket.send(JSON.stringify(frame));
  }

  /** The first frame of the kind, or the given number of them. Rejects when the connection is closed before. */
  async received(kind: string, count = 1): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.all(kind);
      if (found.length >= count) return found[count - 1] as Record<string, unknown>;
      if (this.#closing !== undefined) {
        throw new Error(`closed with ${this.#closing.code} ${this.#closing.reason} before ${kind} ${count}`);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  all(kind: string): readonly Record<string, unknown>[] {
    return this.frames.flatMap((frame) => (frame[kind] === undefined ? [] : [frame[kind]]));
  }
}

interface Answer {
  readonly statusCode: number;
  setEncoding(encoding: string): void;
}

function toProto(frame: FrameObject): Uint8Array {
  return clientFrame.encode(clientFrame.fromObject(frame)).finish();
}

function fromProto(bytes: Uint8Array): FrameObject {
  return serverFrame.toObject(serverFrame.decode(bytes), { longs: Number, defaults: false });
}
