/** When a change is "no slower" than the commit before it, from measurements in pairs. */
import { median, quantile } from '../statistics.ts';

export interface Measurement {
  readonly requestsPerSecond: number;
  /** Processor time of the server and its workers for each request. */
  readonly serverMicros: number;
}

export interface Pair {
  readonly before: Measurement;
  readonly after: Measurement;
}

export interface Verdict {
  readonly microsBefore: number;
  readonly microsAfter: number;
  readonly microsRatio: number;
  readonly rateRatio: number;
  /** The 95 % interval of `rateRatio`. */
  readonly rateInterval: readonly [low: number, high: number];
  readonly outcome: 'no slower' | 'slower' | 'too few pairs';
}

/** With fewer the interval says little. */
export const pairsMin = 9;
const microsRatioMax = 1.03;
const rateRatioMin = 0.97;
const resamples = 10_000;

export function verdictOn(pairs: readonly Pair[]): Verdict {
  const microsBefore = median(pairs.map(({ before }) => before.serverMicros));
  const microsAfter = median(pairs.map(({ after }) => after.serverMicros));
  const ratios = pairs.map(({ before, after }) => after.requestsPerSecond / before.requestsPerSecond);
  const rateInterval = bootstrapInterval(ratios);
  const microsRatio = microsAfter / microsBefore;
  const isNoSlower = microsRatio <= microsRatioMax && rateInterval[1] >= rateRatioMin;
  const outcome = pairs.length < pairsMin ? 'too few pairs' : isNoSlower ? 'no slower' : 'slower';
  return { microsBefore, microsAfter, microsRatio, rateRatio: median(ratios), rateInterval, outcome };
}

/** Of the median, by drawing as many values again and again; the same for the same values. */
function bootstrapInterval(values: readonly number[]): readonly [number, number] {
  const random = xorshift(1);
  const medians = Array.from({ length: resamples }, () =>
    median(values.map(() => values[random() % values.length] as number)),
  );
  return [quantile(medians, 0.025), quantile(medians, 0.975)];
}

function xorshift(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
