/** An honest caller over gRPC, one session from an address of its own, opened again when it was closed. */
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { doubleModel } from '../attack-models.ts';
import { envelope, inferMessage, inferMethod } from '../raw/infer-message.ts';
import { doubled, sameBytes } from './numbers.ts';
import { answered, type BystanderOutcome, type BystanderPorts, callMsMax } from './outcome.ts';

const resourceExhausted = '8';
const unavailable = '14';

interface Reply {
  readonly status: string;
  readonly text: string;
  readonly message: Buffer;
}

export class GrpcCalls {
  readonly #ports: BystanderPorts;
  readonly #address: string;
  #session: ClientHttp2Session | undefined;
  /** Why the server ended the session last. */
  #goodbye = '';

  constructor(ports: BystanderPorts, address: string) {
    this.#ports = ports;
    this.#address = address;
  }

  infer(values: Float32Array): Promise<BystanderOutcome> {
    const raw = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    const request = inferMessage({
      model: doubleModel,
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, values.length] }],
      raw: [raw],
    });
    return this.#outcome(inferMethod, request, (message) => {
      const expected = doubled(values);
      // The only output's bytes come last in the message.
      return sameBytes(message.subarray(message.length - expected.length), expected);
    });
  }

  health(): Promise<BystanderOutcome> {
    return this.#outcome('/grpc.health.v1.Health/Check', Buffer.alloc(0), (message) =>
      message.equals(Buffer.of(8, 1)) ? undefined : `the health is ${message.toString('hex')}`,
    );
  }

  async #outcome(
    method: string,
    message: Buffer,
    check: (message: Buffer) => string | undefined,
  ): Promise<BystanderOutcome> {
    try {
      const reply = await this.#call(method, envelope(message));
      if (reply.status === resourceExhausted || reply.status === unavailable) {
        return { kind: 'refused', problem: `gRPC ${reply.status}: ${reply.text}` };
      }
      if (reply.status !== '0') return { kind: 'failed', problem: `gRPC ${reply.status}: ${reply.text}` };
      const problem = check(reply.message.subarray(5));
      return problem === undefined ? answered : { kind: 'wrong', problem: `gRPC: ${problem}` };
    } catch (error) {
      const { code, message: text } = error as NodeJS.ErrnoException;
      return { kind: code === 'ECONNREFUSED' ? 'refused' : 'failed', problem: `gRPC: ${text}${this.#goodbye}` };
    }
  }

  #call(method: string, body: Buffer): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const session = this.#open();
      const stream = session.request({
        ':method': 'POST',
        ':path': method,
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      const pieces: Buffer[] = [];
      let status = '';
      let text = '';
      const take = (fields: Record<string, unknown>): void => {
        if (fields['grpc-status'] !== undefined) status = String(fields['grpc-status']);
        if (fields['grpc-message'] !== undefined) text = String(fields['grpc-message']).slice(0, 200);
      };
      const timer = setTimeout(() => {
        reject(new Error(`no answer within ${callMsMax} ms`));
        stream.close(constants.NGHTTP2_CANCEL);
      }, callMsMax);
      stream.on('response', take);
      stream.on('trailers', take);
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('error', reject);
      stream.on('close', () => {
        clearTimeout(timer);
        if (status === '') reject(new Error('the stream was closed without a status'));
        else resolve({ status, text, message: Buffer.concat(pieces) });
      });
      stream.end(body);
    });
  }

  #open(): ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed) return this.#session;
    const endpoint = { host: '127.0.0.1', port: this.#ports.grpc, localAddress: this.#address };
    const session = connect(`${this.#ports.isTls ? 'https' : 'http'}://127.0.0.1:${this.#ports.grpc}`, {
      // In MB. Above its default Node resets streams itself, with ENHANCE_YOUR_CALM.
      maxSessionMemory: 1000,
      settings: { initialWindowSize: 4 * 1024 * 1024 },
      createConnection: () => {
        const socket = connectSocket(endpoint);
        return this.#ports.isTls ? connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ['h2'] }) : socket;
      },
    });
    session.once('connect', () => session.setLocalWindowSize(16 * 1024 * 1024));
    session.on('error', () => {});
    session.on('goaway', (_code, _lastId, reason?: Buffer) => {
      this.#goodbye = ` (the server said ${reason?.toString('latin1') ?? 'goodbye'})`;
      session.close();
    });
    this.#session = session;
    return session;
  }

  close(): void {
    this.#session?.destroy();
  }
}
