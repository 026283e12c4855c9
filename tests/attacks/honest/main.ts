/**
 * `node tests/dist/attacks/honest/main.js [--long] [--only TEXT]`: large honest uses of a real server with default limits, alone and beside attacks from another
 * address. Ends with `N passed, N failed`.
 */
import { parseArgs } from 'node:util';
import { AttackHarness, attackerAddress, wait } from '../attack-harness.ts';
import { AttackerProcess } from '../attacker-process.ts';
import { attacks } from '../attacks.ts';
import { honestUses } from './uses.ts';

const { values } = parseArgs({
  options: { long: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
});
const honestAddress = '127.0.0.5';
/** One of each kind: memory that others take, the event loop, connections. */
const beside = values.long
  ? ['announced-messages', 'silent-bodies', 'unread-answers', 'zip-bombs', 'json-numbers', 'idle-connections']
  : ['silent-bodies', 'json-numbers'];
const pressure = 0.5;
const attackStartMs = 1000;

const harness = await AttackHarness.open({
  ...{ isShort: false, serve: [], isTls: false, descriptorsMax: undefined },
  attacks: attacks.filter(({ name }) => beside.includes(name)),
});
// However this ends, no server is left behind.
process.once('exit', () => harness.server.child.kill());
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const bystanderPorts = { ...harness.ports, isTls: false };
let passed = 0;
let failed = 0;

async function runAll(when: string): Promise<void> {
  const chosen = honestUses.filter(({ name }) => name.includes(values.only));
  for (const use of chosen) {
    const from = performance.now();
    const problem = await use.run(bystanderPorts, honestAddress, values.long).catch((error: unknown) => String(error));
    if (problem === '') passed++;
    else failed++;
    const took = `${((performance.now() - from) / 1000).toFixed(1)} s`;
    console.log(`${problem === '' ? 'ok  ' : 'FAIL'} ${use.name}, ${when}: ${took} ${problem}`);
  }
}

await runAll('alone');
for (const name of beside) {
  const attack = attacks.find((one) => one.name === name);
  if (attack === undefined) throw new Error(`no such attack: ${name}`);
  const { ports, routerPid, isTls } = harness;
  const attacker = new AttackerProcess(attack, pressure, {
    ports,
    routerPid,
    isTls,
    address: attackerAddress,
    seed: 1,
  });
  await wait(attackStartMs);
  await runAll(`beside ${name}`);
  await attacker.stop();
}
await harness.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
