/** The bystanders' process, from the outside. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { BystanderReport } from './bystander.ts';
import type { BystanderCommand } from './bystander-main.ts';
import type { BystanderPorts } from './outcome.ts';

export class BystanderProcess {
  readonly #child: ChildProcess;

  constructor(ports: BystanderPorts) {
    this.#child = fork(fileURLToPath(new URL('./bystander-main.js', import.meta.url)), [JSON.stringify(ports)], {
      execArgv: [],
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  async start(addresses: readonly string[]): Promise<void> {
    await this.#ask({ do: 'start', addresses });
  }

  /** By address. */
  async stop(): Promise<Readonly<Record<string, BystanderReport>>> {
    return (await this.#ask({ do: 'stop' })) as Readonly<Record<string, BystanderReport>>;
  }

  /** What went wrong with one call of each kind from this address; empty when nothing did. */
  async probe(address: string): Promise<string> {
    return (await this.#ask({ do: 'probe', address })) as string;
  }

  #ask(command: BystanderCommand): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const onExit = (): void => reject(new Error('the bystanders ended'));
      this.#child.once('exit', onExit);
      this.#child.once('message', (reply) => {
        this.#child.off('exit', onExit);
        resolve(reply);
      });
      this.#child.send(command);
    });
  }

  close(): void {
    this.#child.kill();
  }
}
