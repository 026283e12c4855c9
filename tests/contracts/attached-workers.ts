/** Workers that run on their own, for the tests of the lane to them: as programs, and in the process of the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Lane } from '@millrace/protocol';
import { createAttachedLane } from '@millrace/router/internal';
import { WorkerServer, type WorkerServerOptions } from '@millrace/worker/attached';
import { contentOf, FileDigests } from '@millrace/worker/content';
import { programs } from 'millrace/internal';
import { afterAll } from 'vitest';

export interface AttachedProgram {
  readonly socketPath: string;
  readonly process: ChildProcess;
}

export interface AttachedWorkers {
  /** In a folder that only this user can enter. */
  socketPath(name: string): string;
  /** Starts the program; resolves when it listens. */
  start(name: string, ...args: readonly string[]): Promise<AttachedProgram>;
  /** Listens in this process. */
  serve(name: string, options: Pick<WorkerServerOptions, 'engines'> & Partial<WorkerServerOptions>): Promise<string>;
  /** The lane of a router that attaches to these. */
  lane(...socketPaths: readonly string[]): Lane;
}

export function useAttachedWorkers(): AttachedWorkers {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-attached-'));
  const digests = new FileDigests();
  const children: ChildProcess[] = [];
  const servers: WorkerServer[] = [];
  afterAll(async () => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await Promise.all(servers.map((server) => server.stop()));
    rmSync(folder, { recursive: true });
  });
  const socketPath = (name: string): string => join(folder, name);
  return {
    socketPath,
    async start(name, ...args) {
      const path = socketPath(name);
      const child = spawn(process.execPath, [programs.attachedWorker, '--socket', path, ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      children.push(child);
      const said: string[] = [];
      const lines = createInterface(child.stderr);
      await new Promise<void>((resolve, reject) => {
        lines.on('line', (line) => (line === `listening on ${path}` ? resolve() : said.push(line)));
        child.once('exit', () => reject(new Error(`the worker ended: ${said.join(' | ')}`)));
      });
      return { socketPath: path, process: child };
    },
    async serve(name, options) {
      const path = socketPath(name);
      const server = await WorkerServer.open({
        socketPath: path,
        id: name,
        capacity: 64,
        linksMax: 8,
        unsentBytesMax: 2 ** 26,
        onEvent: () => {},
        ...options,
      });
      servers.push(server);
      return path;
    },
    lane: (...socketPaths) => createAttachedLane({ socketPaths, describeContent: (spec) => contentOf(spec, digests) }),
  };
}
