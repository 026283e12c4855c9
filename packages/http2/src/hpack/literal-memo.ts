/**
 * Caches what short string literals decoded to. Clients built on nghttp2 send `:path` as a literal on every request;
 * a hit saves the Huffman decoding and returns the same string, whose hash is known, each time. Only a whole
 * literal can match, so nothing can be learnt of another connection's strings piece by piece.
 */
const entriesMax = 256;
const literalBytesMax = 64;

class LiteralMemo {
  /** Result of the last hit. */
  text = '';
  isValid = true;
  readonly #raw = new Uint8Array(entriesMax * literalBytesMax);
  /** Length and kind of each entry's literal; 0 is an empty entry. */
  readonly #tags = new Uint16Array(entriesMax);
  readonly #texts: string[] = new Array<string>(entriesMax).fill('');
  readonly #areValid = new Uint8Array(entriesMax);

  recall(bytes: Uint8Array, start: number, end: number, isHuffman: boolean, isName: boolean): boolean {
    const length = end - start;
    if (length === 0 || length > literalBytesMax) return false;
    const index = indexOf(bytes, start, end);
    if (this.#tags[index] !== tagOf(length, isHuffman, isName)) return false;
    const raw = this.#raw;
    let at = index * literalBytesMax;
    for (let from = start; from < end; from++, at++) if (raw[at] !== bytes[from]) return false;
    this.text = this.#texts[index] as string;
    this.isValid = this.#areValid[index] === 1;
    return true;
  }

  remember(
    bytes: Uint8Array,
    start: number,
    end: number,
    isHuffman: boolean,
    isName: boolean,
    text: string,
    isValid: boolean,
  ): void {
    const length = end - start;
    if (length === 0 || length > literalBytesMax) return;
    const index = indexOf(bytes, start, end);
    this.#tags[index] = tagOf(length, isHuffman, isName);
    this.#raw.set(bytes.subarray(start, end), index * literalBytesMax);
    this.#texts[index] = text;
    this.#areValid[index] = isValid ? 1 : 0;
  }
}

function tagOf(length: number, isHuffman: boolean, isName: boolean): number {
  return (length << 2) | (isHuffman ? 2 : 0) | (isName ? 1 : 0);
}

function indexOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return (hash ^ (hash >>> 15)) & (entriesMax - 1);
}

/** One for the process: its size is fixed, and an entry is used only if its bytes are equal. */
export const literalMemo = new LiteralMemo();
