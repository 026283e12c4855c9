/**
 * How the server's child processes are started (workers, describing and analysing processes): who they run as, where their
 * temporary files go, their priority, and that the kernel ends them first when memory runs out.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, chown, readdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/fields.ts';
import { openPrivateFolder, type PrivateFolder } from '../private-folder/private-folder.ts';
import { programs } from '../programs.ts';
import type { HeldFolder } from '../supervisor/messages.ts';
import { giveWay } from './lower-priority.ts';
import { offerToOomKiller } from './oom-score.ts';
import { checkReach } from './reach-check.ts';
import { resolveWorkerUser, type WorkerUser } from './worker-user.ts';

type Spawn = typeof spawn;

export interface ChildProcessesParts {
  readonly worker: Pick<Config['worker'], 'user' | 'group' | 'niceness' | 'generatorNiceness'>;
  /** Called with the reason when there is no private folder, for instance because everything is mounted read-only. */
  readonly onFolderUnavailable: (reason: string) => void;
  /** The folder that the supervisor holds, if there is one. */
  readonly heldFolder?: HeldFolder | undefined;
}

export class ChildProcesses {
  readonly user: WorkerUser | undefined;
  readonly #folder: PrivateFolder | undefined;
  /** Node's `spawn` with the user, the folder for temporary files, the priority and the OOM score of this server's children. */
  readonly spawn: Spawn;
  /** The same for workers of generators, which compute without a pause while there are texts. */
  readonly spawnGenerator: Spawn;

  private constructor(
    user: WorkerUser | undefined,
    folder: PrivateFolder | undefined,
    { niceness, generatorNiceness }: Pick<Config['worker'], 'niceness' | 'generatorNiceness'>,
  ) {
    this.user = user;
    this.#folder = folder;
    const temporaryFolder = folder?.children ?? tmpdir();
    const options = user === undefined ? {} : { uid: user.uid, gid: user.gid };
    const environment = { TMPDIR: temporaryFolder, HOME: temporaryFolder, ORT_DISABLE_TELEMETRY: '1' };
    const spawnWith = (lowered: number): Spawn => {
      const start = (command: string, args: readonly string[], given: Parameters<Spawn>[2]): ChildProcess => {
        const child = spawn(command, args, { ...given, ...options, env: { ...given.env, ...environment } });
        if (child.pid !== undefined) {
          giveWay(child.pid, lowered);
          offerToOomKiller(child.pid);
        }
        return child;
      };
      return start as Spawn;
    };
    this.spawn = spawnWith(niceness);
    this.spawnGenerator = spawnWith(Math.max(niceness, generatorNiceness));
  }

  /** Rejects with a `ConfigError` when there is no such user, or this process may not start others as it. */
  static async open({ worker, onFolderUnavailable, heldFolder }: ChildProcessesParts): Promise<ChildProcesses> {
    const user = resolveWorkerUser(worker);
    let folder: PrivateFolder | undefined;
    try {
      folder = await openPrivateFolder({ user, held: heldFolder });
    } catch (error) {
      onFolderUnavailable((error as Error).message);
    }
    return new ChildProcesses(user, folder, worker);
  }

  /** The folder for temporary files of the router; undefined when there is no private folder. */
  get folder(): string | undefined {
    return this.#folder?.path;
  }

  /** A folder inside it that routers of the same supervisor find again. */
  get lastingFolder(): string | undefined {
    return this.#folder?.lasting;
  }

  /**
   * Must be called after the store is opened: model files uploaded with a load are in its folder, and the worker user must
   * be able to reach them. Rejects with a `ConfigError` that lists the paths the user cannot reach.
   */
  async checkReach(paths: readonly string[], storePath: string): Promise<void> {
    if (this.user === undefined) return;
    if (storePath !== '') await letThrough(storePath, this.user.gid);
    await checkReach(this.user, [
      programs.worker,
      ...paths,
      ...(this.#folder === undefined ? [] : [this.#folder.children]),
    ]);
  }

  /** Must be called when no child process is left. */
  async close(): Promise<void> {
    await this.#folder?.remove();
  }
}

/** Members of the group may pass through the folder, but neither list it nor read its files. */
async function letThrough(folder: string, gid: number): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o001) !== 0) return;
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isFile()) await chmod(join(folder, entry.name), 0o600);
  }
  await chown(folder, -1, gid);
  await chmod(folder, (mode & 0o7777) | 0o010);
}
