/** An attacker in a process of its own, from the outside. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Attack } from './attack.ts';
import type { FateReport } from './fate.ts';
import type { TargetPlace } from './target.ts';

/** What an attacker says when it is in place; all else is its report. */
export const placedMessage = 'placed';

const nobody: FateReport = {
  opened: 0,
  disconnected: 0,
  answered: 0,
  bodyBytes: 0,
  refusals: {},
  harms: ['the attacker ended without a report'],
};

export class AttackerProcess {
  readonly #child: ChildProcess;
  readonly #report: Promise<FateReport>;
  readonly placed: Promise<void>;

  constructor(attack: Attack, pressure: number, place: TargetPlace) {
    const program = fileURLToPath(new URL('./attacker-main.js', import.meta.url));
    this.#child = fork(program, [attack.name, String(pressure), JSON.stringify(place)], {
      execArgv: ['--max-old-space-size=4096'],
    });
    this.#report = new Promise((resolve) => {
      this.#child.on('message', (message) => {
        if (message !== placedMessage) resolve(message as FateReport);
      });
      this.#child.once('exit', () => resolve(nobody));
    });
    this.placed = new Promise((resolve) => {
      this.#child.on('message', () => resolve());
      this.#child.once('exit', () => resolve());
    });
  }

  /** When its connections are as it wants them, or when that takes too long. */
  async isInPlace(msMax: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, msMax);
    });
    await Promise.race([this.placed, late]);
    clearTimeout(timer);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  stop(): Promise<FateReport> {
    if (this.#child.connected) this.#child.send('stop');
    return this.#report;
  }
}
