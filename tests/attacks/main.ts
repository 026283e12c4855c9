/**
 * `node tests/dist/attacks/main.js [--seconds 3] [--only NAME]… [--long] [--pressure 1] [--shared] [--pinned] [--list] [--report FILE]`: every attack on a real server,
 * one after the other, with bystanders from another address. `--long` has the server's default time limits, a minute for each attack, and each
 * also from a bystander's own address. Ends with `N passed, N failed`.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Attack } from './attack.ts';
import { AttackHarness } from './attack-harness.ts';
import { attacks } from './attacks.ts';
import { type AttackReport, runAttack } from './run-attack.ts';
import { attackVerdictOn, mebibytes, reportText } from './verdict.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string' },
    only: { type: 'string', multiple: true },
    long: { type: 'boolean', default: false },
    pressure: { type: 'string', default: '1' },
    /** Only the variant in which attacker and bystander share an address. */
    shared: { type: 'boolean', default: false },
    /** Server on core 0, everybody else on core 1, for the bench. */
    pinned: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    report: { type: 'string' },
  },
});
if (values.list) {
  for (const { name, row } of attacks) console.log(`${name.padEnd(28)} ${row}`);
  process.exit(0);
}
const unknown = (values.only ?? []).filter((name) => !attacks.some((attack) => attack.name === name));
if (unknown.length > 0) {
  console.error(`no such attack: ${unknown.join(', ')}; --list shows them`);
  process.exit(2);
}
const chosen = attacks.filter(({ name }) => values.only === undefined || values.only.includes(name));
const seconds = Number(values.seconds ?? (values.long ? 60 : 3));
const pressure = Number(values.pressure);

/** Those that can share a server, in the order of their first. */
function byServer(list: readonly Attack[]): readonly (readonly Attack[])[] {
  const groups = new Map<string, Attack[]>();
  for (const attack of list) {
    const key = JSON.stringify([attack.serve ?? [], attack.isOverTls ?? false, attack.descriptorsMax ?? 0]);
    groups.set(key, [...(groups.get(key) ?? []), attack]);
  }
  return [...groups.values()];
}

async function openHarness(group: readonly Attack[]): Promise<AttackHarness> {
  const [first] = group;
  return AttackHarness.open({
    isShort: !values.long,
    serve: first?.serve ?? [],
    isTls: first?.isOverTls ?? false,
    descriptorsMax: first?.descriptorsMax,
    isPinned: values.pinned,
    attacks: group,
  });
}

let passed = 0;
let failed = 0;
const reports: object[] = [];

function judge(report: AttackReport): boolean {
  const verdict = attackVerdictOn(report);
  console.log(reportText(report, verdict));
  reports.push({ ...report, attack: report.attack.name, hasFault: report.attack.fault !== undefined, ...verdict });
  if (verdict.problems.length === 0) passed++;
  else failed++;
  return verdict.problems.length === 0;
}

let harness: AttackHarness | undefined;
// However this ends, no server is left behind.
process.once('exit', () => harness?.server.child.kill());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

for (const group of byServer(chosen)) {
  harness = await openHarness(group);
  console.log(`\nserver with ${JSON.stringify(group[0]?.serve ?? [])}: ${mebibytes(harness.idleBytes)} idle`);
  for (const attack of group) {
    const variants = values.shared ? [true] : values.long || attack.isSharedInShort === true ? [false, true] : [false];
    for (const isSharedAddress of variants) {
      // Whatever an attack broke must not be counted against the next one.
      if (!judge(await runAttack(harness, attack, seconds, { pressure, isSharedAddress }))) {
        await harness.close();
        harness = await openHarness(group);
      }
    }
  }
  await harness.close();
}
if (values.report !== undefined) writeFileSync(values.report, `${JSON.stringify(reports)}\n`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
