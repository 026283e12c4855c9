/**
 * Durable streams over gRPC, one at a time on one connection: either one input that is answered by `--count` outputs, again and
 * again, or inputs that are each answered once, `--ahead` of them on the way. Prints one JSON line. Contents are
 * checked by the scenario; here every stream must have the right number of outputs and end by `ended`.
 */
import { parseArgs } from 'node:util';
import {
  echoInput,
  echoModel,
  endedFrameTag,
  generateBody,
  generatePath,
  openBody,
  openedFrameTag,
  outputFrameTag,
  streamPath,
} from '../stream-messages.ts';
import { EnvelopeCounter } from './envelope-counter.ts';
import { FrameConnection } from './frame-connection.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    seconds: { type: 'string' },
    /** Outputs of a stream. */
    count: { type: 'string' },
    /** Inputs on the way; 0: one input asks for all outputs. */
    ahead: { type: 'string', default: '0' },
  },
});
const count = Number(values.count);
const ahead = Number(values.ahead);
/** The chunks are followed by an output that says that there are no more. */
const expected = ahead > 0 ? count : count + 1;
/** Made before, so that encoding them takes no time of the measurement: every stream has the same ones. */
const echoInputs: readonly Buffer[] =
  ahead > 0 ? Array.from({ length: count }, (_, index) => echoInput(index + 1, index + 1 === count)) : [];
const begin = performance.now();
const end = begin + Number(values.seconds) * 1000;
let outputs = 0;
let wrong = 0;

class MeasuredStream {
  readonly #counter = new EnvelopeCounter((tag) => this.#onFrame(tag));
  readonly id: number;
  #outputs = 0;
  #sent = 0;
  #hasEnded: boolean = false;

  constructor(id: number) {
    this.id = id;
  }

  push(bytes: Buffer, at: number, length: number): void {
    const before = this.#outputs;
    this.#counter.push(bytes, at, at + length);
    if (ahead > 0 && this.#outputs > before) this.#sendInputs(this.#outputs + ahead);
  }

  /** All that one arrival makes room for goes out in one write. */
  #sendInputs(upTo: number): void {
    const inputs = echoInputs.slice(this.#sent, upTo);
    this.#sent += inputs.length;
    if (inputs.length > 0) connection.send(this.id, Buffer.concat(inputs), this.#sent === count);
  }

  #onFrame(tag: number): void {
    if (tag === outputFrameTag) this.#outputs += 1;
    else if (tag === endedFrameTag) this.#hasEnded = true;
    else if (tag === openedFrameTag && ahead > 0) this.#sendInputs(ahead);
  }

  close(isReset: boolean): void {
    outputs += this.#outputs;
    if (isReset || !this.#hasEnded || this.#outputs !== expected) wrong += 1;
  }
}

const body = ahead > 0 ? openBody(echoModel) : generateBody(count);
const connection = new FrameConnection(Number(values.port), ahead > 0 ? streamPath : generatePath, body, {
  onData: (_id, length, bytes, at) => stream.push(bytes, at, length),
  onEnd: (_id, isReset) => {
    stream.close(isReset);
    const now = performance.now();
    if (now < end && wrong === 0) {
      stream = new MeasuredStream(connection.call(ahead > 0));
      return;
    }
    const outputsPerSecond = (outputs * 1000) / (now - begin);
    process.stdout.write(`${JSON.stringify({ outputsPerSecond, outputs, wrong })}\n`);
    connection.socket.destroy();
  },
});
let stream = new MeasuredStream(connection.call(ahead > 0));
