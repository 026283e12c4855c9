/** One attack on a running server, with everything that is watched meanwhile. */
import type { Attack } from './attack.ts';
import {
  type AttackHarness,
  attackerAddress,
  bystanderAddress,
  secondBystanderAddress,
  wait,
} from './attack-harness.ts';
import { AttackerProcess } from './attacker-process.ts';
import type { BystanderReport } from './bystander/bystander.ts';
import type { FateReport } from './fate.ts';
import { type LoopReport, LoopWatch } from './watch/loop-watch.ts';
import { MemoryWatch } from './watch/memory-watch.ts';

export interface AttackReport {
  readonly attack: Attack;
  /** Whether attacker and first bystander came from one address. */
  readonly isSharedAddress: boolean;
  /** Whoever must not notice: the bystander, or with a shared address the second one. */
  readonly bystander: BystanderReport;
  readonly calm: BystanderReport;
  readonly fate: FateReport;
  readonly peakBytes: number;
  /** Over idle when the attack had been over for a moment. */
  readonly leftBytes: number;
  readonly loop: LoopReport | undefined;
  readonly hasServerDied: boolean;
  /** Why the attacker's address was not served afterwards; empty when it was. */
  readonly afterwards: string;
}

/** How long after an attack its address may still be refused: rates and times run out. */
const recoveryMsMax = 10_000;
/** How long an attacker may prepare what it sends, and an attacker that the server holds off may try to get into place. */
const preparingMsMax = 60_000;
const placingMsMax = 8000;
const finishingMsMax = 90_000;

export async function runAttack(
  stage: AttackHarness,
  attack: Attack,
  seconds: number,
  options: { readonly isSharedAddress?: boolean; readonly pressure?: number; readonly seed?: number } = {},
): Promise<AttackReport> {
  const isSharedAddress = options.isSharedAddress ?? false;
  const address = isSharedAddress ? bystanderAddress : attackerAddress;
  const memory = new MemoryWatch(stage.routerPid);
  const loop = await LoopWatch.start(stage.ports.metrics, stage.routerPid).catch(() => undefined);
  const attacker = new AttackerProcess(attack, options.pressure ?? 1, {
    ...{ ports: stage.ports, routerPid: stage.routerPid, isTls: stage.isTls, address, seed: options.seed ?? 1 },
  });
  await attacker.isInPlace(attack.placedMin === undefined ? preparingMsMax : placingMsMax);
  await stage.bystanders.start(isSharedAddress ? [address, secondBystanderAddress] : [bystanderAddress]);
  await wait(Math.max(seconds, attack.secondsMin ?? 0) * 1000);
  const isUnfinished = attack.isFinite === true && !(await attacker.isFinished(finishingMsMax));
  const reports = await stage.bystanders.stop();
  const told = await attacker.stop();
  const fate = isUnfinished ? { ...told, harms: [...told.harms, 'the attack did not come to its end'] } : told;
  const afterwards = await recovery(stage, address);
  const loopReport = await loop?.stop();
  memory.stop();
  return {
    attack,
    isSharedAddress,
    bystander: reports[isSharedAddress ? secondBystanderAddress : bystanderAddress] as BystanderReport,
    calm: stage.calm,
    fate,
    peakBytes: memory.peakBytes - stage.idleBytes,
    leftBytes: memory.lastBytes - stage.idleBytes,
    loop: loopReport,
    hasServerDied: stage.isServerGone,
    afterwards,
  };
}

async function recovery(stage: AttackHarness, address: string): Promise<string> {
  const giveUpAt = performance.now() + recoveryMsMax;
  for (;;) {
    const problem = await stage.bystanders.probe(address);
    if (problem === '' || stage.isServerGone || performance.now() > giveUpAt) return problem;
    await wait(250);
  }
}
