/** A real server under strace, in one process beside its workers, and its trace when it has ended. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerProcess } from '../support/server-process.ts';
import { readTrace, type TracedProcess, traceOptions } from './read-trace.ts';
import type { Ground } from './rules.ts';

export class TracedServer {
  readonly server: ServerProcess;
  readonly #work: string;
  readonly #folders: readonly string[];
  readonly #readyAt: number;
  readonly #traced: Promise<void>;

  private constructor(server: ServerProcess, work: string, folders: readonly string[]) {
    this.server = server;
    this.#work = work;
    this.#folders = folders;
    this.#readyAt = Date.now() / 1000;
    // strace holds the same pipe, and ends when it has written everything.
    this.#traced = new Promise((resolve) => server.child.once('close', () => resolve()));
  }

  /** `folders`: of models and store. */
  static async start(args: readonly string[], folders: readonly string[]): Promise<TracedServer> {
    const work = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-strace-')));
    chmodSync(work, 0o755);
    mkdirSync(join(work, 'trace'));
    mkdirSync(join(work, 'temporary'));
    const server = await ServerProcess.start([...args, '--no-share-workers', '--no-supervise'], {
      wrapper: ['strace', '-D', ...traceOptions, '-o', join(work, 'trace', 'of')],
      environment: { TMPDIR: join(work, 'temporary'), NODE_EXTRA_CA_CERTS: undefined, NODE_OPTIONS: undefined },
    });
    return new TracedServer(server, work, [...folders.map((folder) => realpathSync(folder)), join(work, 'temporary')]);
  }

  async stop(): Promise<{ readonly processes: readonly TracedProcess[]; readonly ground: Ground }> {
    await this.server.stop();
    await this.#traced;
    const processes = readTrace(join(this.#work, 'trace'));
    rmSync(this.#work, { recursive: true });
    return {
      processes,
      ground: { folders: this.#folders, readyAt: this.#readyAt, workersReadyAt: this.#readyTimes() },
    };
  }

  #readyTimes(): ReadonlyMap<number, number> {
    const ready = this.server.records.filter(({ message }) => message === 'worker ready');
    return new Map(ready.map(({ pid, time }) => [pid as number, Date.parse(time as string) / 1000]));
  }
}
