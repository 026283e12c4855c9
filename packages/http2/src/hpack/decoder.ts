/** HPACK decoding (RFC 7541): decodes a header block, without copying it, into a list of shared fields. */
import { fieldKind, fieldKindOf, HeaderField, isFieldValue, isLowerCaseName } from '../header-field.ts';
import { isPseudoValue } from '../request-target.ts';
import { DecoderTable, hpackEntryOverheadBytes } from './decoder-table.ts';
import { decodeHuffman } from './huffman-decoder.ts';
import { literalMemo } from './literal-memo.ts';
import { staticCount, staticFields } from './static-table.ts';

/** The table size every connection starts with (RFC 9113, 6.5.2); it is not negotiated up or down. */
export const tableBytesDefault = 4096;

/** How a block ended: complete; over the list limit, with the tables intact; or unrecoverable: a bomb or malformed. */
export type DecodeResult = 'ok' | 'list-too-large' | 'bomb' | 'compression-error';

/** A list this many times over its limit is an attack: the rest of its block is not decoded. */
export const bombFactor = 16;

/** A larger integer is refused: no legal field comes near it, and sums stay exact. */
const integerMax = 1 << 28;

export class HpackDecoder {
  readonly #table = new DecoderTable(tableBytesDefault);
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  #isBroken: boolean = false;
  /** Size of the current list so far, as SETTINGS_MAX_HEADER_LIST_SIZE counts it. */
  #listBytes = 0;

  get tableBytes(): number {
    return this.#table.bytes;
  }

  get listBytes(): number {
    return this.#listBytes;
  }

  /**
   * Decodes one whole block and appends its fields. Beyond `listBytesMax` it decodes on, to keep its table equal to the
   * client's, but keeps no more fields; decoding stops where a bomb is recognised.
   */
  decode(bytes: Buffer, start: number, end: number, into: HeaderField[], listBytesMax: number): DecodeResult {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#isBroken = false;
    this.#listBytes = 0;
    let mayResize = true;
    const bombBytes = listBytesMax * bombFactor;
    while (this.#at < this.#end) {
      const first = bytes[this.#at] as number;
      if ((first & 0xe0) === 0x20) {
        const size = this.#integer(0x1f);
        if (!mayResize || this.#isBroken || size > tableBytesDefault) return this.#given('compression-error');
        this.#table.resize(size);
        continue;
      }
      mayResize = false;
      const field = first >= 0x80 ? this.#fieldAt(this.#integer(0x7f)) : this.#literal(first);
      if (field === undefined || this.#isBroken) return this.#given('compression-error');
      this.#listBytes += field.name.length + field.value.length + hpackEntryOverheadBytes;
      if (this.#listBytes <= listBytesMax) into.push(field);
      else if (this.#listBytes > bombBytes) return this.#given('bomb');
    }
    return this.#given(this.#listBytes <= listBytesMax ? 'ok' : 'list-too-large');
  }

  /** Drops the reference to the block. */
  #given(result: DecodeResult): DecodeResult {
    this.#bytes = emptyBytes;
    return result;
  }

  #fieldAt(index: number): HeaderField | undefined {
    if (index === 0) return undefined;
    return index <= staticCount ? staticFields[index - 1] : this.#table.at(index - staticCount - 1);
  }

  #literal(first: number): HeaderField | undefined {
    const isIndexed = (first & 0xc0) === 0x40;
    const nameIndex = this.#integer(isIndexed ? 0x3f : 0x0f);
    let name: string;
    let kind: HeaderField['kind'];
    let isValid = true;
    if (nameIndex > 0) {
      const named = this.#fieldAt(nameIndex);
      if (named === undefined) return undefined;
      name = named.name;
      kind = named.kind;
      // A response-only pseudo-header must not get in by its index either.
      isValid = kind === fieldKind.unknownPseudo ? false : namesAreValid(named);
    } else {
      if (!this.#string(true)) return undefined;
      name = this.#text;
      kind = fieldKindOf(name);
      isValid = this.#isTextValid && kind !== fieldKind.unknownPseudo;
    }
    if (!this.#string(false)) return undefined;
    const isWhole = isValid && this.#isTextValid && isPseudoValue(kind, this.#text);
    const field = new HeaderField(name, this.#text, kind, isWhole);
    if (isIndexed) this.#table.insert(field);
    return field;
  }

  #text = '';
  #isTextValid: boolean = true;

  /** Reads a string literal and checks it, as a name or as a value. */
  #string(isName: boolean): boolean {
    if (this.#at >= this.#end) return false;
    const isHuffman = (this.#bytes[this.#at] as number) >= 0x80;
    const length = this.#integer(0x7f);
    const start = this.#at;
    if (this.#isBroken || length > this.#end - start) return false;
    const end = start + length;
    this.#at = end;
    if (literalMemo.recall(this.#bytes, start, end, isHuffman, isName)) {
      this.#text = literalMemo.text;
      this.#isTextValid = literalMemo.isValid;
      return true;
    }
    let from = this.#bytes;
    let first = start;
    let last = end;
    if (isHuffman) {
      const scratch = lendScratch(length * 2);
      last = decodeHuffman(from, start, end, scratch);
      if (last < 0) return false;
      from = scratch;
      first = 0;
    }
    this.#text = from.toString('latin1', first, last);
    this.#isTextValid = isName ? isLowerCaseName(from, first, last) : isFieldValue(from, first, last);
    literalMemo.remember(this.#bytes, start, end, isHuffman, isName, this.#text, this.#isTextValid);
    return true;
  }

  #integer(mask: number): number {
    let value = (this.#bytes[this.#at++] as number) & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      if (this.#at >= this.#end) break;
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (value > integerMax) break;
        return value;
      }
    }
    this.#isBroken = true;
    return 0;
  }
}

const emptyBytes = Buffer.alloc(0);

/** An entry with a bad value may be referred to by name; one with a bad name may not. */
function namesAreValid(named: HeaderField): boolean {
  if (named.isValid) return true;
  const bytes = Buffer.from(named.name, 'latin1');
  return isLowerCaseName(bytes, 0, bytes.length);
}

let scratch = Buffer.allocUnsafeSlow(4096);

function lendScratch(bytes: number): Buffer {
  if (scratch.length < bytes) scratch = Buffer.allocUnsafeSlow(bytes);
  return scratch;
}
