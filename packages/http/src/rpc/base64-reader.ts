import type { MessageReader } from './envelope.ts';
import { RpcError } from './rpc-error.ts';

/** Takes the base64 of gRPC-Web's text form off the body. Padding may stand at the end of every chunk a client made. */
export class Base64Reader implements MessageReader {
  readonly #inner: MessageReader;
  readonly #onBad: (error: RpcError) => void;
  /** Characters of a group of four that is not complete. */
  #rest = '';
  #isBroken: boolean = false;

  constructor(inner: MessageReader, onBad: (error: RpcError) => void) {
    this.#inner = inner;
    this.#onBad = onBad;
  }

  get isMidMessage(): boolean {
    return this.#rest !== '' || this.#inner.isMidMessage;
  }

  push(piece: Uint8Array): void {
    if (this.#isBroken) return;
    const text = this.#rest + Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1');
    const whole = text.length - (text.length % 4);
    this.#rest = text.slice(whole);
    let from = 0;
    while (from < whole) {
      const padding = text.indexOf('=', from);
      // A group with padding ends its chunk; the next begins behind it.
      const stop = padding < 0 || padding >= whole ? whole : padding - (padding % 4) + 4;
      const part = text.slice(from, stop);
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(part)) {
        this.#fail();
        return;
      }
      this.#inner.push(Buffer.from(part, 'base64'));
      from = stop;
    }
  }

  end(): void {
    if (this.#isBroken) return;
    if (this.#rest === '') this.#inner.end();
    else this.#fail();
  }

  hold(): void {
    this.#inner.hold();
  }

  release(): void {
    this.#inner.release();
  }

  close(): void {
    this.#isBroken = true;
    this.#inner.close();
  }

  #fail(): void {
    this.#isBroken = true;
    this.#onBad(new RpcError('invalid_argument', 'the body is not base64, which application/grpc-web-text requires'));
  }
}
