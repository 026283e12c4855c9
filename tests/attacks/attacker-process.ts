/** An attacker in a process of its own, from the outside. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Attack } from './attack.ts';
import type { FateReport } from './fate.ts';
import type { TargetPlace } from './target.ts';

const nobody: FateReport = {
  opened: 0,
  disconnected: 0,
  answered: 0,
  refusals: {},
  harms: ['the attacker ended without a report'],
};

export class AttackerProcess {
  readonly #child: ChildProcess;
  readonly #report: Promise<FateReport>;

  constructor(attack: Attack, pressure: number, place: TargetPlace) {
    const program = fileURLToPath(new URL('./attacker-main.js', import.meta.url));
    this.#child = fork(program, [attack.name, String(pressure), JSON.stringify(place)], {
      execArgv: ['--max-old-space-size=4096'],
    });
    this.#report = new Promise((resolve) => {
      this.#child.once('message', (report) => resolve(report as FateReport));
      this.#child.once('exit', () => resolve(nobody));
    });
  }

  stop(): Promise<FateReport> {
    if (this.#child.connected) this.#child.send('stop');
    return this.#report;
  }
}
