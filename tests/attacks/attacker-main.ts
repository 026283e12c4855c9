/** The attacker's process: runs one attack until it is told to stop, then reports the outcome. */

import { establishedMessage, finishedMessage } from './attacker-process.ts';
import { attacks } from './attacks.ts';
import { Target, type TargetLocation } from './target.ts';

const [name, pressure, location] = process.argv.slice(2);
const attack = attacks.find((one) => one.name === name);
if (attack === undefined) throw new Error(`no such attack: ${name}`);
const target = new Target(JSON.parse(location ?? '') as TargetLocation);

/** An attack that does not end after it was told to stop has hung; its counts are still reported. */
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
// Attackers ignore errors of sockets that the server closed during a write.
process.on('uncaughtException', (error) => {
  if (!('code' in error)) target.fate.harm(`the attack itself failed: ${error.stack ?? error.message}`);
});
const establishedMin =
  attack.establishedMin === undefined ? undefined : Math.round(attack.establishedMin * Number(pressure));
const checking = setInterval(() => {
  if (establishedMin === undefined ? target.fate.opened === 0 : target.established < establishedMin) return;
  clearInterval(checking);
  process.send?.(establishedMessage);
}, 20);
const running = attack.run(target, Number(pressure)).catch((error: unknown) => {
  if (!target.isOver)
    target.fate.harm(`the attack itself failed: ${error instanceof Error ? error.stack : String(error)}`);
});
// An attack that has finished waits for the order to stop, so that its connections stay open.
void running.then(async () => {
  process.send?.(finishedMessage);
  while (!target.isOver) await new Promise((resolve) => setTimeout(resolve, 20));
  report();
});
