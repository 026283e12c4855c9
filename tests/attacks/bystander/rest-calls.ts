/** An honest caller over REST, from an address of its own; every answer is compared with what it must be. */
import { Agent, type RequestOptions, request } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { doubleModel } from '../attack-models.ts';
import { doubled, sameBytes } from './numbers.ts';
import { answered, type BystanderOutcome, type BystanderPorts, callMsMax } from './outcome.ts';

const binaryField = 'inference-header-content-length';

/**
 * The client closes what it has not used for so long: before the server does (`http.idleMsMax`), which would cut off a request that is sent
 * at the same moment.
 */
const idleMs = 60_000;

interface Reply {
  readonly status: number;
  readonly body: Buffer;
  readonly headBytes: number;
}

export class RestCalls {
  readonly #ports: BystanderPorts;
  readonly #address: string;
  readonly #agent: Agent;

  constructor(ports: BystanderPorts, address: string) {
    this.#ports = ports;
    this.#address = address;
    const options = { keepAlive: true, timeout: idleMs };
    this.#agent = ports.isTls ? new TlsAgent(options) : new Agent(options);
  }

  /** One number as JSON. */
  small(value: number): Promise<BystanderOutcome> {
    const body = JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [value] }] });
    return this.#outcome(
      () => this.#call({ method: 'POST', path: `/v2/models/${doubleModel}/infer` }, Buffer.from(body)),
      ({ body: answer }) => {
        const { outputs } = JSON.parse(answer.toString()) as { outputs: { data: number[] }[] };
        return outputs[0]?.data[0] === value * 2 ? undefined : `${value} doubled is ${outputs[0]?.data[0]}`;
      },
    );
  }

  /** A binary tensor of this many numbers. */
  large(values: Float32Array): Promise<BystanderOutcome> {
    const data = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
    const head = JSON.stringify({
      inputs: [
        { name: 'x', datatype: 'FP32', shape: [1, values.length], parameters: { binary_data_size: data.length } },
      ],
      parameters: { binary_data_output: true },
    });
    const headers = { [binaryField]: head.length, 'content-length': head.length + data.length };
    return this.#outcome(
      () =>
        this.#call(
          { method: 'POST', path: `/v2/models/${doubleModel}/infer`, headers },
          Buffer.concat([Buffer.from(head), data]),
        ),
      ({ body, headBytes }) => sameBytes(body.subarray(headBytes), doubled(values)),
    );
  }

  /** On a connection of its own, as probes come. */
  health(): Promise<BystanderOutcome> {
    return this.#outcome(() => this.#call({ path: '/v2/health/ready', agent: false }));
  }

  metrics(): Promise<BystanderOutcome> {
    return this.#outcome(
      () => this.#call({ path: '/metrics', agent: false, port: this.#ports.metrics }, undefined, true),
      ({ body }) => (body.includes('process_cpu_seconds_total') ? undefined : 'the metrics lack the processor time'),
    );
  }

  async #outcome(call: () => Promise<Reply>, check?: (reply: Reply) => string | undefined): Promise<BystanderOutcome> {
    try {
      const reply = await call();
      if (reply.status === 429 || reply.status === 503 || reply.status === 413) {
        return { kind: 'refused', problem: `REST ${reply.status}: ${reply.body.toString('utf8', 0, 200)}` };
      }
      if (reply.status !== 200) {
        return { kind: 'failed', problem: `REST ${reply.status}: ${reply.body.toString('utf8', 0, 200)}` };
      }
      const problem = check?.(reply);
      return problem === undefined ? answered : { kind: 'wrong', problem: `REST: ${problem}` };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return { kind: code === 'ECONNREFUSED' ? 'refused' : 'failed', problem: `REST: ${message}` };
    }
  }

  #call(options: RequestOptions, body?: Buffer, isPlain = false): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const all: RequestOptions = {
        ...{ host: '127.0.0.1', port: this.#ports.http, localAddress: this.#address, agent: this.#agent },
        ...{ timeout: callMsMax, rejectUnauthorized: false },
        ...options,
      };
      const make = this.#ports.isTls && !isPlain ? requestTls : request;
      const call = make(all, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('error', reject);
        answer.on('end', () => {
          const bytes = Buffer.concat(pieces);
          const headBytes = Number(answer.headers[binaryField] ?? bytes.length);
          resolve({ status: answer.statusCode ?? 0, body: bytes, headBytes });
        });
      });
      const timer = setTimeout(() => call.destroy(new Error(`no answer within ${callMsMax} ms`)), callMsMax);
      call.on('close', () => clearTimeout(timer));
      call.on('error', reject);
      call.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
