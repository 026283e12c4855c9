/** Runs one attack on a server and measures the server and the bystanders meanwhile. */
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
import { workerPidsOf } from './target.ts';
import { type LoopReport, LoopWatch } from './watch/loop-watch.ts';
import { MemoryWatch } from './watch/memory-watch.ts';

export interface AttackReport {
  readonly attack: Attack;
  /** Whether attacker and first bystander came from one address. */
  readonly isSharedAddress: boolean;
  /** The bystander that must not be affected; with a shared address the second one. */
  readonly bystander: BystanderReport;
  /** The same without the attack. */
  readonly calm: BystanderReport;
  readonly fate: FateReport;
  readonly peakBytes: number;
  /** Memory above idle, shortly after the end of the attack. */
  readonly leftBytes: number;
  readonly loop: LoopReport | undefined;
  readonly hasServerDied: boolean;
  /** Why the attacker's address was not served after the attack; empty when it was. */
  readonly afterwards: string;
}

/** How long after an attack its address may still be refused: rates and times run out. */
const recoveryMsMax = 10_000;
/** How long an attacker may prepare what it sends, and how long it may try to establish its connections while the server refuses some. */
const preparingMsMax = 60_000;
const establishingMsMax = 8000;
const finishingMsMax = 90_000;
/** How long the bystanders call before the harness does something to the server. */
const beforeFaultMs = 500;

export async function runAttack(
  harness: AttackHarness,
  attack: Attack,
  seconds: number,
  options: { readonly isSharedAddress?: boolean; readonly pressure?: number; readonly seed?: number } = {},
): Promise<AttackReport> {
  const isSharedAddress = options.isSharedAddress ?? false;
  const address = isSharedAddress ? bystanderAddress : attackerAddress;
  const attackSeconds = Math.max(seconds, attack.secondsMin ?? 0);
  const calm = attack.fault === undefined ? harness.calm : await besideFault(harness, attack.fault, attackSeconds);
  const memory = new MemoryWatch(harness.routerPid);
  const loop = await LoopWatch.start(harness.ports.metrics, harness.routerPid).catch(() => undefined);
  const attacker = new AttackerProcess(attack, options.pressure ?? 1, {
    ...{ ports: harness.ports, routerPid: harness.routerPid, isTls: harness.isTls, address, seed: options.seed ?? 1 },
  });
  await attacker.whenEstablished(attack.establishedMin === undefined ? preparingMsMax : establishingMsMax);
  await harness.bystanders.start(isSharedAddress ? [address, secondBystanderAddress] : [bystanderAddress]);
  await waitWithFault(harness, attack.fault, attackSeconds);
  const isUnfinished = attack.isFinite === true && !(await attacker.isFinished(finishingMsMax));
  const reports = await harness.bystanders.stop();
  const told = await attacker.stop();
  const fate = isUnfinished ? { ...told, harms: [...told.harms, 'the attack did not come to its end'] } : told;
  const afterwards = await recovery(harness, address);
  const loopReport = await loop?.stop();
  memory.stop();
  return {
    attack,
    isSharedAddress,
    bystander: reports[isSharedAddress ? secondBystanderAddress : bystanderAddress] as BystanderReport,
    calm,
    fate,
    peakBytes: memory.peakBytes - harness.idleBytes,
    leftBytes: memory.lastBytes - harness.idleBytes,
    loop: loopReport,
    hasServerDied: harness.isServerGone,
    afterwards,
  };
}

async function waitWithFault(harness: AttackHarness, fault: Attack['fault'], seconds: number): Promise<void> {
  if (fault !== undefined) {
    await wait(beforeFaultMs);
    fault(harness.routerPid);
  }
  await wait(seconds * 1000);
}

/** What a bystander notices of the fault alone. Ends when the server has its worker processes again. */
async function besideFault(
  harness: AttackHarness,
  fault: (routerPid: number) => void,
  seconds: number,
): Promise<BystanderReport> {
  const processes = workerPidsOf(harness.routerPid).length;
  await harness.bystanders.start([bystanderAddress]);
  await waitWithFault(harness, fault, seconds);
  const reports = await harness.bystanders.stop();
  const giveUpAt = performance.now() + recoveryMsMax;
  while (workerPidsOf(harness.routerPid).length < processes && performance.now() < giveUpAt) await wait(250);
  return reports[bystanderAddress] as BystanderReport;
}

async function recovery(harness: AttackHarness, address: string): Promise<string> {
  const giveUpAt = performance.now() + recoveryMsMax;
  for (;;) {
    const problem = await harness.bystanders.probe(address);
    if (problem === '' || harness.isServerGone || performance.now() > giveUpAt) return problem;
    await wait(250);
  }
}
