/** The answers to one request as events: the next is asked for when the transport has taken the one before. */
import { type CancelSignal, InferenceError } from '@millrace/protocol';
import type { DataPlane, InferAnswer, InferRequest } from '../../../data-plane/infer.ts';
import type { InferStream, StreamInput, StreamOutput } from '../../../data-plane/streams/infer-stream.ts';
import { encodeGenerated, errorEvent, generatedEvent } from './encode-response.ts';

const limits = { requestsMax: 1, slotWaitRequestsMax: 1, slotWaitBytesMax: 0 };
/** One answer waits, as that to a unary request does: the next is asked for when it was taken. */
const uncounted = { hasRoomToKeep: () => true, count: () => {}, give: () => {} };

export class GeneratedEvents implements AsyncIterable<Uint8Array> {
  readonly #stream: InferStream;
  readonly #ready: (InferAnswer | InferenceError)[] = [];
  #isOver: boolean = false;
  #wake: () => void = () => {};

  constructor(dataPlane: DataPlane, request: InferRequest, signal: CancelSignal) {
    this.#stream = dataPlane.openStream<StreamInput>({
      limits,
      memory: uncounted,
      listener: {
        onOutput: (output) => this.#take(output),
        onHold: () => {},
        onEnd: () => this.#end(),
      },
    });
    signal.onCancel((reason) => {
      this.#stream.cancel(reason);
      this.#end();
    });
    this.#stream.grant(1);
    this.#stream.input({ request: () => request, onDone: () => {} });
    this.#stream.endInput();
  }

  /** Resolves with the failure that came before any answer; undefined: there is an answer, or the end. */
  async failedAtOnce(): Promise<InferenceError | undefined> {
    await this.#readyOrOver();
    const [first] = this.#ready;
    return first instanceof InferenceError ? first : undefined;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        await this.#readyOrOver();
        const next = this.#ready.shift();
        if (next === undefined) return;
        yield next instanceof InferenceError ? errorEvent(next) : generatedEvent(encodeGenerated(next));
        this.#stream.grant(1);
      }
    } finally {
      this.abandon();
    }
  }

  /** Nobody reads the rest. */
  abandon(): void {
    this.#end();
    for (const waiting of this.#ready.splice(0)) if (!(waiting instanceof InferenceError)) waiting.release();
    this.#stream.abandon();
  }

  #take({ result }: StreamOutput): void {
    if (!(result instanceof InferenceError) && (result.isEnd === true || this.#isOver)) result.release();
    else this.#ready.push(result);
    this.#wake();
  }

  #end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async #readyOrOver(): Promise<void> {
    while (this.#ready.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
