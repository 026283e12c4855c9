/** A real server with the probe in it and in its child processes: tells which source files an event runs through. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually } from '../support/eventually.ts';
import { isAlive } from '../support/is-alive.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';
import { folderVariable } from './probe.ts';
import type { CalledFiles } from './way-difference.ts';

/** Built: other processes cannot run from source on every supported Node. */
const probe = join(repositoryRoot, 'tests/dist/ways/probe.js');

/** On a busy machine, and a worker looks up only once a second. */
const writeMsMax = 150_000;

export class ProbedServer {
  readonly server: ServerProcess;
  readonly #folder: string;

  private constructor(server: ServerProcess, folder: string) {
    this.server = server;
    this.#folder = folder;
  }

  /** Every model has a worker of its own, so that a way has one worker in it; a supervisor takes part in none. */
  static async start(serveArguments: readonly string[]): Promise<ProbedServer> {
    if (!existsSync(probe)) throw new Error(`${probe} is missing; run npm run build first`);
    const folder = mkdtempSync(join(tmpdir(), 'millrace-ways-'));
    const environment = { NODE_OPTIONS: `--import=${pathToFileURL(probe).href}`, [folderVariable]: folder };
    return new ProbedServer(
      await ServerProcess.start([...serveArguments, '--no-share-workers', '--no-supervise'], { environment }),
      folder,
    );
  }

  async stop(): Promise<number | null> {
    const code = await this.server.stop();
    rmSync(this.#folder, { recursive: true });
    return code;
  }

  /** The files in which a function is called between the beginning and the end of the event. `doomed`: a process that it kills. */
  async filesOf(event: () => Promise<unknown>, doomed?: number): Promise<CalledFiles> {
    await this.#writeAll(doomed);
    const before = new Set(readdirSync(this.#folder));
    await event();
    await this.#writeAll(doomed);
    const files = new Map<string, Set<string>>();
    for (const name of this.#written().filter((one) => !before.has(one))) {
      const calls = JSON.parse(readFileSync(join(this.#folder, name), 'utf8')) as Record<string, readonly string[]>;
      for (const [file, functions] of Object.entries(calls)) {
        const path = relative(repositoryRoot, file).replace('/dist/', '/src/').replace(/\.js$/, '.ts');
        files.set(path, new Set([...(files.get(path) ?? []), ...functions]));
      }
    }
    return files;
  }

  #written(): readonly string[] {
    return readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
  }

  async #writeAll(doomed: number | undefined): Promise<void> {
    const names = this.#written();
    for (const pid of new Set(names.map((name) => Number.parseInt(name, 10)))) {
      if (pid === doomed || !isAlive(pid)) continue;
      const next = `${pid}-${names.filter((name) => name.startsWith(`${pid}-`)).length}.json`;
      askToWrite(pid);
      // One that is killed meanwhile, as an idle row analyst is, writes no more.
      const hasWritten = (): boolean => this.#written().includes(next) || !isAlive(pid);
      await eventually(`process ${pid} has written ${next}`, hasWritten, writeMsMax);
    }
  }
}

/** One that has just ended has written for the last time. */
function askToWrite(pid: number): void {
  try {
    process.kill(pid, 'SIGUSR2');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
