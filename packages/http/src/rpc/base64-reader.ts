import type { MessageReader } from './envelope.ts';
import { RpcError } from './rpc-error.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const padding = 61;
/** The six bits of a base64 character; -1 for any other character. */
const sextets = new Int8Array(256).fill(-1);
for (let value = 0; value < alphabet.length; value++) sextets[alphabet.charCodeAt(value)] = value;

/** Decodes whole groups of four characters; undefined if one is invalid. Each may be padded, at no extra cost. */
function decodeGroups(text: string, characters: number): Buffer | undefined {
  const bytes = Buffer.allocUnsafe((characters / 4) * 3);
  let at = 0;
  for (let from = 0; from < characters; from += 4) {
    const third = text.charCodeAt(from + 2);
    const fourth = text.charCodeAt(from + 3);
    const a = sextets[text.charCodeAt(from)] as number;
    const b = sextets[text.charCodeAt(from + 1)] as number;
    const c = third === padding ? 0 : (sextets[third] as number);
    const d = fourth === padding ? 0 : (sextets[fourth] as number);
    if ((a | b | c | d) < 0 || (third === padding && fourth !== padding)) return undefined;
    bytes[at++] = (a << 2) | (b >> 4);
    if (third !== padding) bytes[at++] = (b << 4) | (c >> 2);
    if (fourth !== padding) bytes[at++] = (c << 6) | d;
  }
  return bytes.subarray(0, at);
}

/** Decodes the base64 of gRPC-Web's text form. There may be padding at the end of every chunk that a client encoded. */
export class Base64Reader implements MessageReader {
  readonly #inner: MessageReader;
  readonly #onBad: (error: RpcError) => void;
  /** Characters of an incomplete group of four. */
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
    if (whole === 0) return;
    const decoded = decodeGroups(text, whole);
    if (decoded === undefined) this.#fail();
    else this.#inner.push(decoded);
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
    this.#onBad(
      new RpcError('invalid_argument', 'the body is not valid base64, which application/grpc-web-text requires'),
    );
  }
}
