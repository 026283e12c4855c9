/**
 * Repeated text (names of models and tensors, datatypes) is decoded once. The same instance is handed
 * out every time, which also makes map lookups cheaper.
 */
import { copyOf } from '@millrace/protocol';

export const textMemoEntriesMax = 1024;
const textBytesMax = 64;
/** Of all copies together. */
export const textMemoBytesMax: number = textMemoEntriesMax * textBytesMax;

interface Entry {
  readonly bytes: Uint8Array;
  readonly text: string;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

export class TextMemo {
  readonly #entries: (Entry | undefined)[] = new Array<Entry | undefined>(textMemoEntriesMax).fill(undefined);

  /** The text between two offsets; throws a TypeError for what is not UTF-8. */
  read(bytes: Uint8Array, from: number, to: number): string {
    const length = to - from;
    if (length === 0) return '';
    if (length > textBytesMax) return utf8.decode(bytes.subarray(from, to));
    let hash = length;
    for (let at = from; at < to; at++) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
    const position = (hash ^ (hash >>> 15)) & (textMemoEntriesMax - 1);
    const entry = this.#entries[position];
    if (entry !== undefined && isSame(entry.bytes, bytes, from, to)) return entry.text;
    const copy = copyOf(bytes, from, to);
    const text = utf8.decode(copy);
    this.#entries[position] = { bytes: copy, text };
    return text;
  }

  /** The memory that the copies keep alive. */
  get keptBytes(): number {
    return this.#entries.reduce((sum, entry) => sum + (entry?.bytes.buffer.byteLength ?? 0), 0);
  }
}

function isSame(known: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (known.length !== to - from) return false;
  for (let at = 0; at < known.length; at++) if (known[at] !== bytes[from + at]) return false;
  return true;
}
