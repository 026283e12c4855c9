/**
 * Remembers what short string literals decoded to. Clients built on nghttp2 send `:path` as a literal on every request;
 * recalling it saves the Huffman walk and hands out the same string, whose hash is known, each time. Only a whole
 * literal can be recalled, so nothing can be learnt of another connection's strings piece by piece.
 */
const slots = 256;
const literalBytesMax = 64;

class LiteralMemo {
  /** What the last successful recall found. */
  text = '';
  isValid = true;
  readonly #raw = new Uint8Array(slots * literalBytesMax);
  /** Length and kind of each slot's literal; 0 is an empty slot. */
  readonly #tags = new Uint16Array(slots);
  readonly #texts: string[] = new Array<string>(slots).fill('');
  readonly #areValid = new Uint8Array(slots);

  recall(bytes: Uint8Array, start: number, end: number, isHuffman: boolean, isName: boolean): boolean {
    const length = end - start;
    if (length === 0 || length > literalBytesMax) return false;
    const slot = slotOf(bytes, start, end);
    if (this.#tags[slot] !== tagOf(length, isHuffman, isName)) return false;
    const raw = this.#raw;
    let at = slot * literalBytesMax;
    for (let from = start; from < end; from++, at++) if (raw[at] !== bytes[from]) return false;
    this.text = this.#texts[slot] as string;
    this.isValid = this.#areValid[slot] === 1;
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
    const slot = slotOf(bytes, start, end);
    this.#tags[slot] = tagOf(length, isHuffman, isName);
    this.#raw.set(bytes.subarray(start, end), slot * literalBytesMax);
    this.#texts[slot] = text;
    this.#areValid[slot] = isValid ? 1 : 0;
  }
}

function tagOf(length: number, isHuffman: boolean, isName: boolean): number {
  return (length << 2) | (isHuffman ? 2 : 0) | (isName ? 1 : 0);
}

function slotOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = end - start;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return (hash ^ (hash >>> 15)) & (slots - 1);
}

/** One for the process: its size is fixed and its content is never trusted beyond the bytes it compares. */
export const literalMemo = new LiteralMemo();
