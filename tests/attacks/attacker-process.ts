/** An attacker in a process of its own, from the outside. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Attack } from './attack.ts';
import type { FateReport } from './fate.ts';
import type { TargetLocation } from './target.ts';

/** The messages of an attacker whose connections are established and of one that has finished; any other message is its report. */
export const establishedMessage = 'established';
export const finishedMessage = 'finished';

const nobody: FateReport = {
  opened: 0,
  disconnected: 0,
  hungUp: 0,
  answered: 0,
  bodyBytes: 0,
  refusals: {},
  harms: ['the attacker ended without a report'],
};

export class AttackerProcess {
  readonly #child: ChildProcess;
  readonly #report: Promise<FateReport>;
  readonly #established: Promise<void>;
  readonly #finished: Promise<boolean>;

  constructor(attack: Attack, pressure: number, location: TargetLocation) {
    const program = fileURLToPath(new URL('./attacker-main.js', import.meta.url));
    this.#child = fork(program, [attack.name, String(pressure), JSON.stringify(location)], {
      execArgv: ['--max-old-space-size=4096'],
    });
    this.#report = new Promise((resolve) => {
      this.#child.on('message', (message) => {
        if (message !== establishedMessage && message !== finishedMessage) resolve(message as FateReport);
      });
      this.#child.once('exit', () => resolve(nobody));
    });
    this.#established = new Promise((resolve) => {
      this.#child.on('message', () => resolve());
      this.#child.once('exit', () => resolve());
    });
    this.#finished = new Promise((resolve) => {
      this.#child.on('message', (message) => {
        if (message === finishedMessage) resolve(true);
      });
      this.#child.once('exit', () => resolve(false));
    });
  }

  /** Resolves when the attack has established its connections, or after `msMax`. */
  async whenEstablished(msMax: number): Promise<void> {
    await within(msMax, this.#established);
  }

  async isFinished(msMax: number): Promise<boolean> {
    return (await within(msMax, this.#finished)) ?? false;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  stop(): Promise<FateReport> {
    if (this.#child.connected) this.#child.send('stop');
    return this.#report;
  }
}

/** Undefined when it took longer. */
async function within<T>(msMax: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), msMax);
  });
  const first = await Promise.race([promise, late]);
  clearTimeout(timer);
  return first;
}
