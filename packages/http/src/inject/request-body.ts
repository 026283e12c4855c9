import type { CancelSignal } from '@millrace/protocol';
import { BodyAborted, type BodyReceiver, BodyTooLarge, type LentBodyReceiver, type RequestBody } from '../exchange.ts';
import { unlessCancelled } from './unless-cancelled.ts';

export type InjectedBody = string | Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

const utf8 = new TextEncoder();

/** A request body that a caller in this process holds or produces. */
export class InjectedRequestBody implements RequestBody {
  readonly lengthBytes: number | undefined;
  readonly #source: Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  readonly #signal: CancelSignal;
  readonly #onEnd: () => void;
  #isClaimed: boolean = false;

  constructor(body: InjectedBody | undefined, signal: CancelSignal, onEnd: () => void) {
    this.#source = body === undefined ? new Uint8Array(0) : typeof body === 'string' ? utf8.encode(body) : body;
    this.lengthBytes = this.#source instanceof Uint8Array ? this.#source.byteLength : undefined;
    this.#signal = signal;
    this.#onEnd = onEnd;
  }

  readAll(bytesMax: number): Promise<Uint8Array> {
    return this.#gather(bytesMax);
  }

  async #gather(bytesMax: number): Promise<Uint8Array> {
    this.#claim();
    if (this.#source instanceof Uint8Array) {
      if (this.#source.byteLength > bytesMax) throw new BodyTooLarge(bytesMax);
      if (this.#signal.reason !== undefined) throw callerGone();
      this.#onEnd();
      return this.#source;
    }
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of this.#pieces(this.#source)) {
      bytes += piece.byteLength;
      if (bytes > bytesMax) throw new BodyTooLarge(bytesMax);
      pieces.push(piece);
    }
    return Buffer.concat(pieces, bytes);
  }

  giveAll(bytesMax: number, receiver: BodyReceiver): void {
    this.#gather(bytesMax).then(
      (body) => receiver.onBody(body),
      (error: unknown) => receiver.onBodyFailed(error),
    );
  }

  /** The body is the caller's own memory: nothing is lent. */
  lendAll(bytesMax: number, receiver: LentBodyReceiver): void {
    this.#gather(bytesMax).then(
      (body) => receiver.onBody(body, () => {}),
      (error: unknown) => receiver.onBodyFailed(error),
    );
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#claim();
    return this.#pieces(
      this.#source instanceof Uint8Array ? (this.#source.byteLength === 0 ? [] : [this.#source]) : this.#source,
    );
  }

  #claim(): void {
    if (this.#isClaimed) throw new Error('a request body can be read once: whole, or piece by piece');
    this.#isClaimed = true;
  }

  async *#pieces(source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    let isFinished = false;
    try {
      for (;;) {
        const step = await unlessCancelled(nextOf(iterator), this.#signal, callerGone);
        if (step.done === true) {
          isFinished = true;
          this.#onEnd();
          return;
        }
        if (step.value.byteLength > 0) yield step.value;
      }
    } finally {
      if (!isFinished) void Promise.resolve(iterator.return?.()).then(undefined, () => {});
    }
  }
}

/** To the handler, a source that fails is a client that stopped half-way. */
async function nextOf(iterator: Iterator<Uint8Array> | AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  try {
    return await iterator.next();
  } catch (error) {
    throw new BodyAborted(error instanceof Error ? error.message : 'the caller failed to produce it');
  }
}

function callerGone(): Error {
  return new BodyAborted('the caller went away');
}
