/** The attacker's process: runs one attack until it is told to stop, then says how it fared. */

import { finishedMessage, placedMessage } from './attacker-process.ts';
import { attacks } from './attacks.ts';
import { Target, type TargetLocation } from './target.ts';

const [name, pressure, place] = process.argv.slice(2);
const attack = attacks.find((one) => one.name === name);
if (attack === undefined) throw new Error(`no such attack: ${name}`);
const target = new Target(JSON.parse(place ?? '') as TargetLocation);

/** An attack that was told to stop and goes on has hung; its figures are still told. */
const endMsMax = 3000;

let reported = false;
function report(): void {
  if (reported) return;
  reported = true;
  process.send?.(target.fate.report(), () => process.exit(0));
}

process.on('message', () => {
  target.end();
  setTimeout(report, endMsMax);
});
process.on('disconnect', () => process.exit(0));
// A socket that was closed under a write is what attackers live with.
process.on('uncaughtException', (error) => {
  if (!('code' in error)) target.fate.harm(`the attack itself failed: ${error.stack ?? error.message}`);
});
const placedMin = attack.placedMin === undefined ? undefined : Math.round(attack.placedMin * Number(pressure));
const looking = setInterval(() => {
  if (placedMin === undefined ? target.fate.opened === 0 : target.placed < placedMin) return;
  clearInterval(looking);
  process.send?.(placedMessage);
}, 20);
const running = attack.run(target, Number(pressure)).catch((error: unknown) => {
  if (!target.isOver)
    target.fate.harm(`the attack itself failed: ${error instanceof Error ? error.stack : String(error)}`);
});
// One that has done all it can waits to be told, so that its connections stay.
void running.then(async () => {
  process.send?.(finishedMessage);
  while (!target.isOver) await new Promise((resolve) => setTimeout(resolve, 20));
  report();
});
