/** How long streams stood still, by cause. A sample is taken only where no second fault came between. */
import { nearestRank } from '../../attacks/quantile.ts';
import type { DurableClient } from './durable-client.ts';

export const gapCauses = ['worker kill', 'link cut', 'black hole', 'superseded', 'router kill'] as const;
export type GapCause = (typeof gapCauses)[number];

interface OpenGap {
  readonly cause: GapCause;
  readonly faultAt: number;
  /** Undefined: its model is not ready again. */
  from: number | undefined;
  pausedMs: number;
  /** The client has noticed: what came before was on its way when the fault came. */
  isNoticed: boolean;
  /** The client has given up a connection on which nothing came. */
  isGivenUp: boolean;
  isReopened: boolean;
}

interface Sample {
  readonly gapMs: number;
  /** Since the fault: of a killed router, with the time that the next one and its models took. */
  readonly outageMs: number;
  readonly pausedMs: number;
}

export interface GapFigures {
  readonly streams: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Streams by the milliseconds that their gap had at most. */
  readonly histogram: Readonly<Record<string, number>>;
}

type Quantiles = [number, number, number];

const bucketsMs = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000];

export class GapWatch {
  readonly #open = new Map<DurableClient, OpenGap>();
  readonly #samples = new Map<GapCause, Sample[]>();

  /** A fault has hit the stream. A worker's death counts only for streams that wait for an output. */
  begin(client: DurableClient, cause: GapCause): void {
    if (cause === 'worker kill' && (!client.isAttached || !client.isWaiting || this.#open.has(client))) return;
    const faultAt = performance.now();
    const from = cause === 'router kill' ? undefined : faultAt;
    this.#open.set(client, {
      cause,
      faultAt,
      from,
      pausedMs: 0,
      isNoticed: false,
      isGivenUp: false,
      isReopened: false,
    });
  }

  /** The model can be used again after the death of the router. */
  ready(model: string): void {
    for (const [client, gap] of this.#open) {
      if (gap.cause === 'router kill' && client.options.plan.model === model) gap.from ??= performance.now();
    }
  }

  /** The client waits before it connects again. */
  paused(client: DurableClient, pauseMs: number): void {
    const gap = this.#open.get(client);
    if (gap === undefined) return;
    // Something else has cut the connection.
    if (gap.cause === 'worker kill' && !gap.isGivenUp) this.#open.delete(client);
    gap.isNoticed = true;
    gap.pausedMs += pauseMs;
  }

  /** Nothing came for so long that the client gives the connection up. */
  silent(client: DurableClient): void {
    const gap = this.#open.get(client);
    if (gap !== undefined) gap.isGivenUp = true;
  }

  opened(client: DurableClient): void {
    const gap = this.#open.get(client);
    if (gap?.isNoticed !== true) return;
    gap.isReopened = true;
    // Where an output is due, the stream goes on with that.
    const isOutputDue = client.isWaiting && (gap.cause === 'router kill' || gap.cause === 'worker kill');
    if (!isOutputDue) this.#end(client, gap);
  }

  output(client: DurableClient): void {
    const gap = this.#open.get(client);
    if (gap?.cause === 'worker kill' || (gap?.cause === 'router kill' && gap.isReopened)) this.#end(client, gap);
  }

  forget(client: DurableClient): void {
    this.#open.delete(client);
  }

  /** By cause, since the fault; of killed routers also since the model of the stream was ready again. */
  figures(): Readonly<Record<string, GapFigures>> {
    const figures: Record<string, GapFigures> = {};
    for (const cause of gapCauses) {
      const samples = this.#samples.get(cause);
      if (samples === undefined) continue;
      figures[cause] = figuresOf(samples.map(({ outageMs }) => outageMs));
      if (cause === 'router kill') figures['router kill, model ready'] = figuresOf(samples.map(({ gapMs }) => gapMs));
    }
    return figures;
  }

  report(): string {
    return gapCauses
      .map((cause) => {
        const samples = this.#samples.get(cause) ?? [];
        if (samples.length === 0) return `  ${cause}: no sample`;
        const gaps = samples.map(({ gapMs }) => gapMs);
        const paused = samples.map(({ pausedMs }) => pausedMs);
        const written = (list: readonly number[]): string =>
          [0.5, 0.99, 1].map((fraction) => `${nearestRank(list, fraction).toFixed(0)}`).join(' / ');
        const backoff = cause === 'worker kill' ? '' : `; of it backoff of the client ${written(paused)}`;
        const outage =
          cause === 'router kill' ? `; since the kill ${written(samples.map(({ outageMs }) => outageMs))}` : '';
        return `  ${cause}: ${samples.length} streams, p50 / p99 / max ${written(gaps)} ms${outage}${backoff}\n    ${writtenHistogram(gaps)}`;
      })
      .join('\n');
  }

  #end(client: DurableClient, { cause, faultAt, from, pausedMs }: OpenGap): void {
    this.#open.delete(client);
    const now = performance.now();
    const samples = this.#samples.get(cause) ?? [];
    this.#samples.set(cause, samples);
    samples.push({ gapMs: now - (from ?? now), outageMs: now - faultAt, pausedMs });
  }
}

function figuresOf(gapsMs: readonly number[]): GapFigures {
  const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((fraction) => nearestRank(gapsMs, fraction)) as Quantiles;
  return { streams: gapsMs.length, p50Ms, p99Ms, maxMs, histogram: histogramOf(gapsMs) };
}

function histogramOf(gapsMs: readonly number[]): Readonly<Record<string, number>> {
  const histogram: Record<string, number> = {};
  let below = 0;
  for (const limit of [...bucketsMs, Number.POSITIVE_INFINITY]) {
    const count = gapsMs.filter((gapMs) => gapMs <= limit).length;
    histogram[limit === Number.POSITIVE_INFINITY ? 'above' : `<=${limit}`] = count - below;
    below = count;
  }
  return histogram;
}

/** Buckets without a stream are left out. */
function writtenHistogram(gapsMs: readonly number[]): string {
  return Object.entries(histogramOf(gapsMs))
    .filter(([, count]) => count > 0)
    .map(([bucket, count]) => `${bucket}: ${count}`)
    .join('  ');
}
