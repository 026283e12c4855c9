/** When a change is "no slower" than the commit before it, from slices of load in pairs. */
import { median } from '../statistics.ts';
import { type Interval, medianInterval } from './bootstrap.ts';

export interface Measurement {
  readonly answered: number;
  readonly requestsPerSecond: number;
  /** Processor time of the server and its workers for each request. */
  readonly serverMicros: number;
}

/** Two neighbouring slices. */
export interface Pair {
  readonly before: Measurement;
  readonly after: Measurement;
}

export interface ComparisonVerdict {
  readonly microsBefore: number;
  readonly microsAfter: number;
  /** Median over pairs, like `rateRatio`. */
  readonly microsRatio: number;
  readonly microsInterval: Interval;
  /** All processor time by all requests: a cost that comes in few slices, such as collecting garbage, is in this one alone. */
  readonly microsTotalRatio: number;
  readonly rateRatio: number;
  readonly rateInterval: Interval;
  readonly outcome: ComparisonOutcome;
}

export type ComparisonOutcome = 'no slower' | 'slower' | 'cannot tell';

/** With fewer the intervals say little. An instance is a fresh process of each side. */
export const pairsMin = 9;
export const instancesMin = 3;
const microsRatioMax = 1.03;
const rateRatioMin = 0.97;
/** An interval around a bound that is no wider than this counts as told: more slices would not change what anyone does. */
const intervalWidthMax = 0.02;

/** `instances`: the pairs of each instance. */
export function comparisonVerdictOn(instances: readonly (readonly Pair[])[]): ComparisonVerdict {
  const pairs = instances.flat();
  const ratiosOf = (ratio: (pair: Pair) => number) => {
    const blocks = instances.map((block) => block.map(ratio));
    return { middle: median(blocks.flat()), interval: medianInterval(blocks) };
  };
  const micros = ratiosOf(({ before, after }) => after.serverMicros / before.serverMicros);
  const rate = ratiosOf(({ before, after }) => after.requestsPerSecond / before.requestsPerSecond);
  const isEnough = pairs.length >= pairsMin && instances.length >= instancesMin;
  const conditions = [
    condition(micros.middle <= microsRatioMax, microsRatioMax, micros.interval),
    condition(rate.interval[1] >= rateRatioMin, rateRatioMin, rate.interval),
  ];
  return {
    microsBefore: median(pairs.map(({ before }) => before.serverMicros)),
    microsAfter: median(pairs.map(({ after }) => after.serverMicros)),
    microsRatio: micros.middle,
    microsInterval: micros.interval,
    microsTotalRatio: totalMicros(pairs.map(({ after }) => after)) / totalMicros(pairs.map(({ before }) => before)),
    rateRatio: rate.middle,
    rateInterval: rate.interval,
    outcome: isEnough ? outcomeFrom(conditions) : 'cannot tell',
  };
}

type Condition = 'met' | 'missed' | 'unclear';

/** The bound must lie outside of the interval, or the interval be narrow. */
function condition(isMet: boolean, bound: number, [low, high]: Interval): Condition {
  const isClear = low > bound || high < bound || high - low <= intervalWidthMax;
  return isClear ? (isMet ? 'met' : 'missed') : 'unclear';
}

function outcomeFrom(conditions: readonly Condition[]): ComparisonOutcome {
  if (conditions.includes('missed')) return 'slower';
  return conditions.includes('unclear') ? 'cannot tell' : 'no slower';
}

function totalMicros(measurements: readonly Measurement[]): number {
  let micros = 0;
  let answered = 0;
  for (const measurement of measurements) {
    micros += measurement.serverMicros * measurement.answered;
    answered += measurement.answered;
  }
  return micros / answered;
}
