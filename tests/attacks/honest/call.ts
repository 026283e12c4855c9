/** A REST call with a body and a reader of their own pace. */
import { request } from 'node:http';
import type { BystanderPorts } from '../bystander/outcome.ts';

export interface PacedCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: Buffer;
  /** Absent: as fast as it goes. */
  readonly sentBytesPerSecond?: number;
  /** For the first so many bytes of the answer. */
  readonly readBytesPerSecond?: number;
  readonly slowBytes?: number;
  /** Asks the server to close after the answer, as clients without a pool do. */
  readonly isLast?: boolean;
}

export interface PacedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

const tickMs = 200;

export function pacedCall(ports: BystanderPorts, address: string, call: PacedCall): Promise<PacedAnswer> {
  return new Promise((resolve, reject) => {
    const { path, body } = call;
    const headers = { ...call.headers, connection: call.isLast === true ? 'close' : 'keep-alive' };
    const outgoing = request(
      { host: '127.0.0.1', port: ports.http, localAddress: address, method: 'POST', path, agent: false, headers },
      (answer) => {
        const pieces: Buffer[] = [];
        let taken = 0;
        const perTick = ((call.readBytesPerSecond ?? Number.POSITIVE_INFINITY) * tickMs) / 1000;
        const slowBytes = call.readBytesPerSecond === undefined ? 0 : (call.slowBytes ?? Number.POSITIVE_INFINITY);
        let tickBytes = 0;
        const timer = setInterval(() => {
          tickBytes = 0;
          answer.resume();
        }, tickMs);
        answer.on('data', (piece: Buffer) => {
          pieces.push(piece);
          taken += piece.length;
          tickBytes += piece.length;
          if (taken < slowBytes && tickBytes >= perTick) answer.pause();
        });
        answer.on('error', reject);
        answer.on('close', () => clearInterval(timer));
        answer.on('end', () => {
          outgoing.destroy();
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) });
        });
      },
    );
    outgoing.on('error', reject);
    if (call.sentBytesPerSecond === undefined) outgoing.end(body);
    else sendSlowly(outgoing, body, (call.sentBytesPerSecond * tickMs) / 1000);
  });
}

function sendSlowly(outgoing: NodeJS.WritableStream, body: Buffer, perTick: number): void {
  let at = 0;
  const timer = setInterval(() => {
    const part = body.subarray(at, at + perTick);
    at += part.length;
    if (at < body.length) outgoing.write(part);
    else {
      clearInterval(timer);
      outgoing.end(part);
    }
  }, tickMs);
  outgoing.on('error', () => clearInterval(timer));
}

/** A binary tensor for the doubling model. */
export function tensorCall(values: Float32Array): Pick<PacedCall, 'headers' | 'body'> {
  const data = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  const head = JSON.stringify({
    inputs: [{ name: 'x', datatype: 'FP32', shape: [1, values.length], parameters: { binary_data_size: data.length } }],
    parameters: { binary_data_output: true },
  });
  const body = Buffer.concat([Buffer.from(head), data]);
  return { headers: { 'inference-header-content-length': head.length, 'content-length': body.length }, body };
}

/** Empty when the answer is each value doubled. */
export function answerProblem(answer: PacedAnswer, expected: Buffer): string {
  if (answer.status !== 200) return `${answer.status}: ${answer.body.toString('utf8', 0, 200)}`;
  const headBytes = Number(answer.headers['inference-header-content-length']);
  const got = answer.body.subarray(headBytes);
  if (got.length !== expected.length) return `${got.length} bytes instead of ${expected.length}`;
  return got.equals(expected) ? '' : 'a value differs';
}
