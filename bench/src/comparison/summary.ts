/** What a comparison prints about one load. */
import { quantile } from '../statistics.ts';
import type { InstanceResult } from './measure-instance.ts';
import type { ComparisonVerdict } from './verdict.ts';

export function summaryOf(name: string, verdict: ComparisonVerdict, instances: readonly InstanceResult[]): string {
  const { microsBefore, microsAfter, microsRatio, microsTotalRatio, rateRatio, outcome } = verdict;
  const outcomeText = outcome === 'cannot tell' ? 'cannot tell: needs more slices' : outcome;
  return [
    `${name}: ${outcomeText}`,
    `  server µs a request ${microsBefore.toFixed(1)} → ${microsAfter.toFixed(1)}, ${ratioText(microsRatio, verdict.microsInterval)}, in total ${microsTotalRatio.toFixed(3)}`,
    `  throughput ${ratioText(rateRatio, verdict.rateInterval)}`,
    ...p50Lines(verdict),
    `  each instance: ${instances.map(instanceText).join(', ')}`,
    `  ${countsText(instances)}`,
  ].join('\n');
}

/** Servers of the same code differ: where the ratio lies in few of them, it says little about the code. */
function instanceText({ pairs }: InstanceResult): string {
  const [before, after] = (['before', 'after'] as const).map((side) =>
    quantile(
      pairs.map((pair) => pair[side].serverMicros),
      0.5,
    ).toFixed(1),
  );
  return `${before} → ${after}`;
}

function p50Lines({ p50 }: ComparisonVerdict): readonly string[] {
  if (p50 === undefined) return [];
  const [before, after] = [p50.beforeMs, p50.afterMs].map((ms) => (ms * 1000).toFixed(0));
  return [`  p50 ${before} → ${after} µs, ${p50.ratio.toFixed(3)}`];
}

function ratioText(ratio: number, interval: readonly number[]): string {
  return `${ratio.toFixed(3)} (95 %: ${interval.map((bound) => bound.toFixed(3)).join(' to ')})`;
}

function countsText(instances: readonly InstanceResult[]): string {
  const pairs = instances.flatMap((instance) => instance.pairs).length;
  const disturbed = instances.reduce((sum, { disturbedCount }) => sum + disturbedCount, 0);
  const waiting = quantile(
    instances.flatMap(({ waitingShares }) => waitingShares),
    0.5,
  );
  const reasons = new Map<string, number>();
  for (const reason of instances.flatMap(({ repeated }) => repeated))
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const repeated = [...reasons].map(([reason, count]) => `${count} for ${reason}`).join(', ');
  return [
    `${pairs} pairs in ${instances.length} instances`,
    `repeated: ${repeated || 'none'}`,
    `kept although disturbed: ${disturbed}`,
    `waiting server: ${(waiting * 100).toFixed(2)} % of a core`,
  ].join('; ');
}
