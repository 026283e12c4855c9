/** The interval of a median where values come in blocks that have something in common, like the slices of one process. */
import { median, quantile } from '../statistics.ts';

export type Interval = readonly [low: number, high: number];

const resamplesDefault = 4_000;

/**
 * 95 % interval of the median of all values, by drawing blocks and then values within each drawn block, again and again; the
 * same for the same values. One block fewer is drawn than there are: with as many, the spread between few blocks comes out too small.
 */
export function medianInterval(blocks: readonly (readonly number[])[], resamples = resamplesDefault): Interval {
  const random = xorshift(1);
  const drawn = Math.max(1, blocks.length - 1);
  const medians = Array.from({ length: resamples }, () => {
    const values: number[] = [];
    for (let block = 0; block < drawn; block++) {
      const from = blocks[random() % blocks.length] as readonly number[];
      for (let index = 0; index < from.length; index++) values.push(from[random() % from.length] as number);
    }
    return median(values);
  });
  return [quantile(medians, 0.025), quantile(medians, 0.975)];
}

/** Pseudo-random numbers below 2^32, the same for the same seed (not 0). */
export function xorshift(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
