import type { ArrivalBudget } from './arrival-budget.ts';
import { tooLarge } from './compression.ts';
import type { MessageReader, MessageSink } from './envelope.ts';
import type { RpcError } from './rpc-error.ts';

/** A body that is one message, as Connect's unary calls have it. */
export class WholeBodyReader implements MessageReader {
  readonly #sink: MessageSink;
  readonly #bytesMax: number;
  readonly #arrivals: ArrivalBudget;
  readonly #isCompressed: boolean;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #isBroken: boolean = false;
  #isHeld: boolean = false;

  constructor(sink: MessageSink, bytesMax: number, arrivals: ArrivalBudget, isCompressed: boolean) {
    this.#sink = sink;
    this.#bytesMax = bytesMax;
    this.#arrivals = arrivals;
    this.#isCompressed = isCompressed;
  }

  push(piece: Uint8Array): void {
    if (this.#isBroken) return;
    if (this.#bytes + piece.length > this.#bytesMax) this.#break(tooLarge('the message', this.#bytesMax));
    else if (!this.#arrivals.take(piece.length)) this.#break(this.#arrivals.refusal());
    else {
      this.#bytes += piece.length;
      this.#pieces.push(piece);
    }
  }

  end(): void {
    if (this.#isBroken) return;
    const pieces = this.#pieces;
    const whole = pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, this.#bytes);
    this.#drop();
    this.#sink.onMessage(whole, this.#isCompressed);
    if (!this.#isHeld) this.#sink.onMessagesEnd();
  }

  close(): void {
    this.#isBroken = true;
    this.#drop();
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#sink.onMessagesEnd();
  }
  #drop(): void {
    this.#arrivals.give(this.#bytes);
    this.#bytes = 0;
    this.#pieces = [];
  }

  #break(error: RpcError): void {
    this.close();
    this.#sink.onBadMessage(error);
  }
}
