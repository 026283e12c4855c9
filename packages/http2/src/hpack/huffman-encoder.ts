import { codeLengths, codes } from './huffman-code.ts';

const lengths = Uint8Array.from(codeLengths);

/** How many bytes a Latin-1 string takes as a Huffman string. */
export function huffmanBytes(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at++) bits += lengths[text.charCodeAt(at)] as number;
  return (bits + 7) >>> 3;
}

/** Writes a Latin-1 string as a Huffman string at `offset`; returns the offset behind it. */
export function encodeHuffman(text: string, into: Uint8Array, offset: number): number {
  let held = 0;
  let heldBits = 0;
  let at = offset;
  for (let index = 0; index < text.length; index++) {
    const symbol = text.charCodeAt(index);
    let bits = lengths[symbol] as number;
    const code = codes[symbol] as number;
    while (bits > 0) {
      const taken = Math.min(bits, 8 - heldBits);
      bits -= taken;
      held = (held << taken) | ((code >>> bits) & ((1 << taken) - 1));
      heldBits += taken;
      if (heldBits === 8) {
        into[at++] = held;
        held = 0;
        heldBits = 0;
      }
    }
  }
  if (heldBits > 0) into[at++] = (held << (8 - heldBits)) | (0xff >>> heldBits);
  return at;
}
