/** Decides whether an attack did harm, and which. */
import {
  budgetBytes,
  budgetSlack,
  fixedAllowanceBytes,
  latencyRatioGoal,
  loopDelayGoalMs,
  loopDelayMsMax,
} from './budgets.ts';
import { fateText } from './fate.ts';
import { nearestRank } from './quantile.ts';
import type { AttackReport } from './run-attack.ts';

const mebibyte = 1024 * 1024;

export interface AttackVerdict {
  /** Empty: the attack did no harm. */
  readonly problems: readonly string[];
  /** Goals that were missed without failing. */
  readonly remarks: readonly string[];
}

export function attackVerdictOn(report: AttackReport): AttackVerdict {
  const { bystander, fate, loop, attack } = report;
  const problems: string[] = [...fate.harms];
  const remarks: string[] = [];
  if (report.hasServerDied) problems.push('the server ended');
  const { refused, failed, wrong, skipped } = bystander;
  if (refused + failed + wrong + skipped > 0) {
    problems.push(
      `the bystander had ${refused} calls refused, ${failed} failed, ${wrong} answered wrongly, ${skipped} not made because 300 were outstanding`,
    );
  }
  if (bystander.calls === 0) problems.push('the bystander made no call');
  const memoryBytesMax = budgetBytes * (1 + budgetSlack);
  if (report.peakBytes > memoryBytesMax) {
    problems.push(`the router held ${mebibytes(report.peakBytes)}, more than ${mebibytes(memoryBytesMax)}`);
  }
  if (attack.memoryPerBodyByteMax !== undefined) {
    const forBodies = fate.bodyBytes * attack.memoryPerBodyByteMax;
    if (report.peakBytes > fixedAllowanceBytes + forBodies) {
      problems.push(`the router held ${mebibytes(report.peakBytes)} for bodies of ${mebibytes(fate.bodyBytes)}`);
    }
  }
  if (loop === undefined) problems.push('the metrics could not be read');
  else if (loop.longestHeldMs > loopDelayMsMax) {
    problems.push(`the event loop was held for ${loop.longestHeldMs.toFixed(0)} ms, more than ${loopDelayMsMax} ms`);
  } else if (loop.longestHeldMs > loopDelayGoalMs) {
    remarks.push(`event loop held for ${loop.longestHeldMs.toFixed(0)} ms (goal ${loopDelayGoalMs} ms)`);
  }
  const refusals = Object.values(fate.refusals).reduce((sum, count) => sum + count, 0);
  if (attack.expected === 'refused' && refusals === 0 && fate.disconnected === 0) {
    problems.push('the attacker was neither refused by name nor disconnected');
  }
  if (report.afterwards !== '') problems.push(`afterwards the attacker's address is not served: ${report.afterwards}`);
  const ratio = latencyRatio(report);
  if (ratio > latencyRatioGoal) remarks.push(`p99 ${ratio.toFixed(1)} times the calm one (goal ${latencyRatioGoal})`);
  return { problems, remarks };
}

export function latencyRatio({ bystander, calm }: AttackReport): number {
  return nearestRank(bystander.latenciesMs, 0.99) / nearestRank(calm.latenciesMs, 0.99);
}

export function reportText(report: AttackReport, verdict: AttackVerdict): string {
  const { attack, bystander, calm, loop } = report;
  const isHarmless = verdict.problems.length === 0;
  const p = (values: readonly number[], fraction: number): string => nearestRank(values, fraction).toFixed(1);
  const lines = [
    `${isHarmless ? 'ok  ' : 'FAIL'} ${attack.name}${report.isSharedAddress ? ' (from a bystander’s own address)' : ''}: ${attack.row}`,
    `     bystander: ${bystander.calls} calls, ${bystander.refused} refused, ${bystander.failed} failed, ${bystander.wrong} wrong`,
    `     small requests: p50 ${p(bystander.latenciesMs, 0.5)} ms (calm ${p(calm.latenciesMs, 0.5)}), p99 ${p(bystander.latenciesMs, 0.99)} ms (calm ${p(calm.latenciesMs, 0.99)}), ratio ${latencyRatio(report).toFixed(2)}; 600 KB p99 ${p(bystander.largeLatenciesMs, 0.99)} ms (calm ${p(calm.largeLatenciesMs, 0.99)})`,
    `     router memory over idle: peak ${mebibytes(report.peakBytes)} of ${mebibytes(budgetBytes)}, ${mebibytes(report.leftBytes)} afterwards`,
    `     event loop: longest delay ${loop?.longestMs.toFixed(0) ?? '?'} ms, of which held ${loop?.longestHeldMs.toFixed(0) ?? '?'} ms`,
    `     attacker: ${fateText(report.fate)}`,
  ];
  for (const problem of [...verdict.problems, ...bystander.problems]) lines.push(`     ! ${problem}`);
  for (const remark of verdict.remarks) lines.push(`     ~ ${remark}`);
  return lines.join('\n');
}

export function mebibytes(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(0)} MiB`;
}
