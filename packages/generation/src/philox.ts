/**
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): random numbers as a function of a key and a
 * counter. The seed is the key and the token's index the counter, so position n draws the same whatever happened before: a stream
 * that is rebuilt from its journal continues as it would have.
 *
 * A SplitMix64 finaliser over `seed + index` would be shorter, but there the streams of two seeds are the same sequence at two
 * offsets, and people choose seeds 1, 2, 3. Philox keeps key and counter apart, passes BigCrush, and has published test vectors.
 */

const multiplier0 = 0xd2511f53;
const multiplier1 = 0xcd9e8d57;
const weyl0 = 0x9e3779b9;
const weyl1 = 0xbb67ae85;
const rounds = 10;

/** Replaces the four words of the counter by four random words. */
export function philox4x32(words: Uint32Array, keyLow: number, keyHigh: number): void {
  let word0 = words[0] as number;
  let word1 = words[1] as number;
  let word2 = words[2] as number;
  let word3 = words[3] as number;
  let key0 = keyLow;
  let key1 = keyHigh;
  for (let round = 0; round < rounds; round++) {
    const high0 = multiplyHigh(multiplier0, word0);
    const low0 = Math.imul(multiplier0, word0);
    const high1 = multiplyHigh(multiplier1, word2);
    const low1 = Math.imul(multiplier1, word2);
    word0 = high1 ^ word1 ^ key0;
    word1 = low1;
    word2 = high0 ^ word3 ^ key1;
    word3 = low0;
    key0 = (key0 + weyl0) | 0;
    key1 = (key1 + weyl1) | 0;
  }
  words[0] = word0;
  words[1] = word1;
  words[2] = word2;
  words[3] = word3;
}

/** The upper half of the product of two unsigned 32-bit numbers, in four products that a double holds exactly. */
function multiplyHigh(left: number, right: number): number {
  const leftLow = left & 0xffff;
  const leftHigh = left >>> 16;
  const rightLow = right & 0xffff;
  const rightHigh = right >>> 16;
  const middle = leftHigh * rightLow + ((leftLow * rightLow) >>> 16);
  const carry = leftLow * rightHigh + (middle & 0xffff);
  return (leftHigh * rightHigh + (middle >>> 16) + (carry >>> 16)) | 0;
}

/** Numbers from 0 to 1 by position. */
export class PositionalRandom {
  readonly #keyLow: number;
  readonly #keyHigh: number;
  readonly #words = new Uint32Array(4);

  /** @param seed 64 bits, unsigned */
  constructor(seed: bigint) {
    this.#keyLow = Number(seed & 0xffff_ffffn) | 0;
    this.#keyHigh = Number((seed >> 32n) & 0xffff_ffffn) | 0;
  }

  /** At least 0 and less than 1, with 53 random bits. */
  at(position: number): number {
    const words = this.#words;
    words[0] = position % 0x1_0000_0000;
    words[1] = Math.floor(position / 0x1_0000_0000);
    words[2] = 0;
    words[3] = 0;
    philox4x32(words, this.#keyLow, this.#keyHigh);
    return (((words[0] as number) >>> 5) * 0x400_0000 + ((words[1] as number) >>> 6)) / 2 ** 53;
  }
}
