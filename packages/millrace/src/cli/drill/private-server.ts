/** A server for one drill: on free ports of loopback, with a journal in a folder that goes with it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { bundledModels, programs } from '../../programs.ts';
import { CommandFailure } from '../command-failure.ts';
import type { CommandEnvironment } from '../run-command.ts';
import type { DrillPlan } from './drill-plan.ts';
import { askWorkerPid, type DrillTarget, type ServerLogRecord } from './drill-target.ts';

/** How long a server may take to end after it was told to. */
const endMsMax = 15_000;
/** Lines of its log that are shown when it does not start. */
const linesShownMax = 5;

export async function startPrivateServer(plan: DrillPlan, parts: CommandEnvironment): Promise<DrillTarget> {
  const models = plan.modelsPath === undefined ? bundledModels : resolve(parts.cwd, plan.modelsPath);
  if (!existsSync(models)) {
    throw new CommandFailure(
      `there are no models in ${models}; give a folder with a generator with --models PATH --model NAME`,
    );
  }
  const folder = mkdtempSync(join(tmpdir(), 'millrace-drill-'));
  const server = new PrivateServer(folder, models, plan.model, parts);
  try {
    await server.whenListening;
    return server;
  } catch (error) {
    await server.close();
    throw error;
  }
}

class PrivateServer implements DrillTarget {
  readonly whenListening: Promise<void>;
  readonly #folder: string;
  readonly #parts: CommandEnvironment;
  readonly #child: ChildProcess;
  readonly #whenEnded: Promise<void>;
  readonly #listeners = new Set<(record: ServerLogRecord) => void>();
  /** The last of what it said, for when it does not start. */
  readonly #lastLines: string[] = [];
  #listening: ServerLogRecord | undefined;

  constructor(folder: string, models: string, model: string, parts: CommandEnvironment) {
    this.#folder = folder;
    this.#parts = parts;
    this.#child = spawn(process.execPath, [programs.command, ...serveArguments(folder, models, model)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environmentFrom(parts.environment),
    });
    this.#whenEnded = new Promise((ended) => this.#child.once('close', () => ended()));
    this.whenListening = new Promise((listens, fails) => {
      this.#child.once('error', fails);
      void this.#whenEnded.then(() =>
        fails(new CommandFailure(`the server of the drill ended:\n${this.#lastLines.join('\n')}`)),
      );
      createInterface({ input: this.#child.stdout as Readable }).on('line', (line) => {
        const record = takeRecord(line);
        this.#note(line);
        if (record === undefined) return;
        if (record.message === 'listening') {
          this.#listening = record;
          listens();
        }
        for (const listener of this.#listeners) listener(record);
      });
      createInterface({ input: this.#child.stderr as Readable }).on('line', (line) => this.#note(line));
    });
    // A drill that fails earlier does not wait for it.
    this.whenListening.catch(() => {});
  }

  get url(): string {
    return String(this.#listening?.httpUrl);
  }

  routerPid(): number | undefined {
    const pid = this.#listening?.pid;
    return typeof pid === 'number' ? pid : undefined;
  }

  workerPid(model: string): Promise<number> {
    return askWorkerPid(this.url, model, this.#parts);
  }

  journalPath(): string {
    return join(storeIn(this.#folder), 'journal');
  }

  onLog(listener: (record: ServerLogRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), endMsMax);
    await this.#whenEnded;
    clearTimeout(timer);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #note(line: string): void {
    this.#lastLines.push(line);
    if (this.#lastLines.length > linesShownMax) this.#lastLines.shift();
  }
}

function storeIn(folder: string): string {
  return join(folder, 'store');
}

function serveArguments(folder: string, models: string, model: string): string[] {
  const ports = ['http', 'grpc', 'metrics'].flatMap((name) => [`--${name}-port`, '0']);
  const loads = ['--model-control-mode', 'explicit', '--load-model', model.replace(/[:@].*$/, '')];
  const log = ['--log-format', 'json', '--log-level', 'debug'];
  return ['serve', models, '--host', '127.0.0.1', ...ports, ...loads, '--store-path', storeIn(folder), ...log];
}

/** Nothing of the caller's configuration; and the server ends when its parent is gone, as it does below npx. */
function environmentFrom(environment: CommandEnvironment['environment']): NodeJS.ProcessEnv {
  const own = Object.entries(environment).filter(([name]) => !name.startsWith('MILLRACE_'));
  return { ...Object.fromEntries(own), npm_command: 'exec' };
}

function takeRecord(line: string): ServerLogRecord | undefined {
  try {
    return JSON.parse(line) as ServerLogRecord;
  } catch {
    return undefined;
  }
}
