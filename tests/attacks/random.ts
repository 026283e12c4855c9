/**
 * `node tests/dist/attacks/random.js --seed N --minutes M`: attacks mixed by a seed, up to three at once, with changing pressure and addresses, and a bystander
 * all the time. At the end no call of the bystander may have failed, and the router's memory must not have grown over the last half.
 */
import { parseArgs } from 'node:util';
import { FuzzRandom } from '../fuzz/random.ts';
import type { Attack } from './attack.ts';
import { AttackHarness, bystanderAddress, wait } from './attack-harness.ts';
import { AttackerProcess } from './attacker-process.ts';
import { attacks } from './attacks.ts';
import { slopeBytesPerMinuteMax } from './budgets.ts';
import type { BystanderReport } from './bystander/bystander.ts';
import { fateText } from './fate.ts';
import { slopeOf } from './least-squares.ts';
import { nearestRank } from './quantile.ts';
import { mebibytes } from './verdict.ts';
import { LoopWatch } from './watch/loop-watch.ts';
import { proportionalBytes, sharedMappings } from './watch/memory-watch.ts';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, minutes: { type: 'string', default: '30' } },
});
const seed = Number(values.seed);
const minutes = Number(values.minutes);
const random = new FuzzRandom(seed);
const mixed = attacks.filter(
  (attack) =>
    attack.isAlone !== true &&
    attack.serve === undefined &&
    attack.isOverTls !== true &&
    attack.descriptorsMax === undefined,
);

/** A mapping that nobody uses is kept for the next worker, up to so many (`idleMappingsMax`); those of workers come on top. */
const idleMappingsMax = 8;
/** Workers of the models that are attacked, and those that replace others at the same time. */
const workersMax = 16;

/** How long attacks rest before memory is read. */
const settleMs = 5000;

interface MemoryReading {
  readonly minute: number;
  /** Heap and external memory after a collection, but for memory shared with workers: grows with what the router forgets to free. */
  readonly keptBytes: number;
  /** The router's pages after it: grows also when the allocator cannot use again what was freed. */
  readonly pagesBytes: number;
}

/** What the router holds when nobody but the bystander calls. Garbage would be read as growth wherever a large attack came late. */
async function readMemory(): Promise<MemoryReading | undefined> {
  await wait(settleMs);
  if (harness.isServerGone) return undefined;
  const keptBytes = await Promise.race([harness.server.keptBytes(), harness.server.exit.then(() => undefined)]);
  const pagesBytes = proportionalBytes(harness.routerPid);
  if (keptBytes === undefined || pagesBytes === undefined) return undefined;
  const mappings = sharedMappings(harness.routerPid);
  if (mappings.count > workersMax + idleMappingsMax) harms.add(`the router has ${mappings.count} shared mappings`);
  return { minute: elapsedMinutes(), keptBytes: keptBytes - mappings.bytes, pagesBytes };
}

function countsText({ calls, refused, failed, wrong, skipped }: BystanderReport): string {
  return `${calls} calls, ${refused} refused, ${failed} failed, ${wrong} wrong, ${skipped} not made`;
}

/** Of the small requests, in milliseconds. */
function p99({ latenciesMs }: BystanderReport): string {
  return nearestRank(latenciesMs, 0.99).toFixed(1);
}

function sumOf(reports: readonly BystanderReport[]): BystanderReport {
  const sum = (count: 'calls' | 'refused' | 'failed' | 'wrong' | 'skipped'): number =>
    reports.reduce((total, report) => total + report[count], 0);
  return {
    calls: sum('calls'),
    refused: sum('refused'),
    failed: sum('failed'),
    wrong: sum('wrong'),
    skipped: sum('skipped'),
    latenciesMs: reports.flatMap(({ latenciesMs }) => latenciesMs),
    largeLatenciesMs: reports.flatMap(({ largeLatenciesMs }) => largeLatenciesMs),
    problems: reports.flatMap(({ problems }) => problems),
  };
}

function addressFrom(): string {
  return `127.0.${1 + random.below(4)}.${2 + random.below(200)}`;
}

const harness = await AttackHarness.open({
  isShort: false,
  serve: [],
  isTls: false,
  descriptorsMax: undefined,
  attacks: mixed,
  measuresMemory: true,
});
// However this ends, no server is left behind.
process.once('exit', () => harness.server.child.kill());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const idlePagesBytes = proportionalBytes(harness.routerPid) ?? 0;
const startedAt = performance.now();
const elapsedMinutes = (): number => (performance.now() - startedAt) / 60_000;
const memory: MemoryReading[] = [];
const harms = new Set<string>();
const loop = await LoopWatch.start(harness.ports.metrics, harness.routerPid);
const rounds: BystanderReport[] = [];

while (elapsedMinutes() < minutes && !harness.isServerGone) {
  const chosen = new Set<Attack>();
  const atOnce = 1 + random.below(3);
  while (chosen.size < atOnce) chosen.add(random.pick(mixed));
  const seconds = 5 + random.below(20);
  await harness.bystanders.start([bystanderAddress]);
  const attackers = [...chosen].map((attack) => {
    const pressure = (1 + random.below(10)) / 10;
    const { ports, routerPid, isTls } = harness;
    const location = { ports, routerPid, isTls, address: addressFrom(), seed: random.next() };
    return { attack, pressure, running: new AttackerProcess(attack, pressure, location) };
  });
  await wait(seconds * 1000);
  for (const { attack, pressure, running } of attackers) {
    const fate = await running.stop();
    for (const harm of fate.harms) harms.add(`${attack.name}: ${harm}`);
    console.log(`${elapsedMinutes().toFixed(1)} min, ${attack.name} at ${pressure}: ${fateText(fate)}`);
  }
  const reading = await readMemory();
  // Calls are reported round by round, so that one that failed can be told from the attacks beside it.
  const round = (await harness.bystanders.stop())[bystanderAddress] as BystanderReport;
  rounds.push(round);
  console.log(`${elapsedMinutes().toFixed(1)} min, bystander: ${countsText(round)}, p99 ${p99(round)} ms`);
  for (const problem of round.problems) console.log(`  ! ${problem}`);
  if (reading === undefined) break;
  memory.push(reading);
  const { minute, keptBytes, pagesBytes } = reading;
  console.log(
    `${minute.toFixed(1)} min, router keeps ${mebibytes(keptBytes)}, its pages ${mebibytes(pagesBytes - idlePagesBytes)} over idle`,
  );
}

const { longestMs, longestHeldMs } = await loop.stop();
const lastHalf = memory.filter(({ minute }) => minute >= elapsedMinutes() / 2);
const keptSlope = slopeOf(lastHalf.map(({ minute, keptBytes }) => [minute, keptBytes]));
const pagesSlope = slopeOf(lastHalf.map(({ minute, pagesBytes }) => [minute, pagesBytes]));
const total = sumOf(rounds);
const failures = total.refused + total.failed + total.wrong + total.skipped;
console.log(`\nseed ${seed}, ${minutes} minutes: bystander: ${countsText(total)}`);
for (const harm of harms) console.log(`  ! ${harm}`);
console.log(`small requests: p99 ${p99(total)} ms, calm ${p99(harness.calm)} ms`);
console.log(`event loop: longest delay ${longestMs.toFixed(0)} ms, of which held ${longestHeldMs.toFixed(0)} ms`);
const rate = (slope: number): string => `${(slope / 1e6).toFixed(2)} MB a minute`;
console.log(
  `router memory over the last half: kept ${rate(keptSlope)}, pages ${rate(pagesSlope)} (${lastHalf.length} readings)`,
);
if (harness.isServerGone) console.log('  ! the server ended');
const isWell =
  !harness.isServerGone &&
  failures === 0 &&
  harms.size === 0 &&
  lastHalf.length >= 2 &&
  keptSlope < slopeBytesPerMinuteMax &&
  pagesSlope < slopeBytesPerMinuteMax;
await harness.close();
console.log(isWell ? '1 passed, 0 failed' : '0 passed, 1 failed');
process.exit(isWell ? 0 : 1);
