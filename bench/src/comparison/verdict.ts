/** When a change is "no slower" than the commit before it, from slices of load in pairs. */
import { median } from '../statistics.ts';
import { type Interval, medianInterval } from './bootstrap.ts';

export interface Measurement {
  readonly answered: number;
  readonly requestsPerSecond: number;
  /** Processor time of the server and its workers for each request. */
  readonly serverMicros: number;
  /** Median time of an answer; only where one request is in flight at a time. */
  readonly p50Ms?: number | undefined;
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
  readonly rateAfter: number;
  readonly rateRatio: number;
  readonly rateInterval: Interval;
  /** Median over pairs of the median times of answers; where one request is in flight at a time. */
  readonly p50: { readonly beforeMs: number; readonly afterMs: number; readonly ratio: number } | undefined;
  readonly outcome: ComparisonOutcome;
}

export type ComparisonOutcome = 'no slower' | 'slower' | 'cannot tell';

/** With fewer the intervals say little. An instance is a fresh process of each side. */
export const pairsMin = 9;
export const instancesMin = 3;

export interface VerdictBounds {
  readonly microsRatioMax: number;
  readonly rateRatioMin: number;
  /** An interval around a bound that is no wider than this counts as told: more slices would not change what anyone does. */
  readonly intervalWidthMax: number;
}

/** What "no slower" means. */
export const strictBounds: VerdictBounds = { microsRatioMax: 1.03, rateRatioMin: 0.97, intervalWidthMax: 0.02 };
/** What a few seconds for each load can tell. */
export const quickBounds: VerdictBounds = { microsRatioMax: 1.08, rateRatioMin: 0.92, intervalWidthMax: 0.06 };

/** `instances`: the pairs of each instance. */
export function comparisonVerdictOn(
  instances: readonly (readonly Pair[])[],
  { microsRatioMax, rateRatioMin, intervalWidthMax }: VerdictBounds = strictBounds,
): ComparisonVerdict {
  const pairs = instances.flat();
  const ratiosOf = (ratio: (pair: Pair) => number) => {
    const blocks = instances.map((block) => block.map(ratio));
    return { middle: median(blocks.flat()), interval: medianInterval(blocks) };
  };
  const micros = ratiosOf(({ before, after }) => after.serverMicros / before.serverMicros);
  const rate = ratiosOf(({ before, after }) => after.requestsPerSecond / before.requestsPerSecond);
  const isEnough = pairs.length >= pairsMin && instances.length >= instancesMin;
  const conditions = [
    condition(micros.middle <= microsRatioMax, microsRatioMax, micros.interval, intervalWidthMax),
    condition(rate.interval[1] >= rateRatioMin, rateRatioMin, rate.interval, intervalWidthMax),
  ];
  return {
    microsBefore: median(pairs.map(({ before }) => before.serverMicros)),
    microsAfter: median(pairs.map(({ after }) => after.serverMicros)),
    microsRatio: micros.middle,
    microsInterval: micros.interval,
    microsTotalRatio: totalMicros(pairs.map(({ after }) => after)) / totalMicros(pairs.map(({ before }) => before)),
    rateAfter: median(pairs.map(({ after }) => after.requestsPerSecond)),
    rateRatio: rate.middle,
    rateInterval: rate.interval,
    p50: p50Of(pairs),
    outcome: isEnough ? outcomeFrom(conditions) : 'cannot tell',
  };
}

function p50Of(pairs: readonly Pair[]): ComparisonVerdict['p50'] {
  const timed = pairs.flatMap(({ before, after }) =>
    before.p50Ms === undefined || after.p50Ms === undefined ? [] : [{ beforeMs: before.p50Ms, afterMs: after.p50Ms }],
  );
  if (timed.length === 0) return undefined;
  return {
    beforeMs: median(timed.map(({ beforeMs }) => beforeMs)),
    afterMs: median(timed.map(({ afterMs }) => afterMs)),
    ratio: median(timed.map(({ beforeMs, afterMs }) => afterMs / beforeMs)),
  };
}

type Condition = 'met' | 'missed' | 'unclear';

/** The bound must lie outside of the interval, or the interval be narrow. */
function condition(isMet: boolean, bound: number, [low, high]: Interval, widthMax: number): Condition {
  const isClear = low > bound || high < bound || high - low <= widthMax;
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
