/** Decodes a chunked body (RFC 9112, 7.1) strictly, passing its data on without copying. */
import { tokenBytes } from '@millrace/http2';

const carriageReturn = 13;
const lineFeed = 10;
const quote = 34;
/** Most hexadecimal digits of a chunk's size, leading zeros included. */
const sizeDigitsMax = 12;
/** Most characters of one chunk's extensions: nobody uses them, so only few are skipped. */
const extensionBytesMax = 256;

/** The value of each hexadecimal digit, 255 for other bytes. */
const digits = new Uint8Array(256).fill(255);
for (let value = 0; value < 16; value++) {
  digits[value.toString(16).charCodeAt(0)] = value;
  digits[value.toString(16).toUpperCase().charCodeAt(0)] = value;
}

/** Token characters, the separators between tokens, and the white space that may surround them. */
function isExtensionByte(byte: number): boolean {
  return (tokenBytes[byte] as number) > 0 || byte === 59 || byte === 61 || byte === 32 || byte === 9;
}

function isTextByte(byte: number): boolean {
  return (byte >= 32 && byte !== 127) || byte === 9;
}

type State =
  | 'size'
  | 'space'
  | 'extension'
  | 'quoted'
  | 'escaped'
  | 'size-end'
  | 'data'
  | 'data-return'
  | 'data-end'
  | 'last'
  | 'broken';

export class ChunkedDecoder {
  #state: State = 'size';
  #size = 0;
  #sizeDigits = 0;
  #extensionBytes = 0;

  /** The last chunk has been read: trailers follow. */
  get isLast(): boolean {
    return this.#state === 'last';
  }

  get isBroken(): boolean {
    return this.#state === 'broken';
  }

  /**
   * Reads from `at` on, passing data to `onData`, until the bytes or the chunks end or a rule is broken; returns where.
   */
  decode(bytes: Buffer, from: number, onData: (piece: Buffer) => void): number {
    let at = from;
    while (at < bytes.length && this.#state !== 'last' && this.#state !== 'broken') {
      if (this.#state === 'data') {
        const taken = Math.min(this.#size, bytes.length - at);
        this.#size -= taken;
        if (this.#size === 0) this.#state = 'data-return';
        onData(bytes.subarray(at, at + taken));
        at += taken;
      } else this.#step(bytes[at++] as number);
    }
    return at;
  }

  #step(byte: number): void {
    switch (this.#state) {
      case 'size':
        this.#onSizeByte(byte);
        return;
      case 'space':
        if (byte === 59) this.#state = 'extension';
        else if (byte !== 32 && byte !== 9) this.#state = 'broken';
        this.#countExtension();
        return;
      case 'extension':
        if (byte === carriageReturn) this.#state = 'size-end';
        else if (byte === quote) this.#state = 'quoted';
        else if (!isExtensionByte(byte)) this.#state = 'broken';
        this.#countExtension();
        return;
      case 'quoted':
        if (byte === quote) this.#state = 'extension';
        else if (byte === 92) this.#state = 'escaped';
        else if (!isTextByte(byte)) this.#state = 'broken';
        this.#countExtension();
        return;
      case 'escaped':
        this.#state = isTextByte(byte) ? 'quoted' : 'broken';
        this.#countExtension();
        return;
      case 'size-end':
        if (byte !== lineFeed) this.#state = 'broken';
        else this.#state = this.#size > 0 ? 'data' : 'last';
        this.#sizeDigits = 0;
        this.#extensionBytes = 0;
        return;
      case 'data-return':
        this.#state = byte === carriageReturn ? 'data-end' : 'broken';
        return;
      case 'data-end':
        this.#state = byte === lineFeed ? 'size' : 'broken';
        return;
      case 'data':
      case 'last':
      case 'broken':
        return;
    }
  }

  #onSizeByte(byte: number): void {
    const digit = digits[byte] as number;
    if (digit < 16) {
      this.#sizeDigits++;
      this.#size = this.#size * 16 + digit;
      if (this.#sizeDigits > sizeDigitsMax) this.#state = 'broken';
    } else if (this.#sizeDigits === 0) this.#state = 'broken';
    else if (byte === carriageReturn) this.#state = 'size-end';
    else if (byte === 59) this.#state = 'extension';
    else if (byte === 32 || byte === 9) this.#state = 'space';
    else this.#state = 'broken';
  }

  #countExtension(): void {
    this.#extensionBytes++;
    if (this.#extensionBytes > extensionBytesMax) this.#state = 'broken';
  }
}
