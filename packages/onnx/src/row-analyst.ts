/**
 * Runs the analysis in a separate process: a graph may be hostile, and running out of memory ends a process, not a
 * thread. Time and memory are limited, and each file is analysed once.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { notAnalysed, wholeGraph } from './analyse-rows.ts';
import type { AnalystAnswer, AnalystQuestion } from './row-analyst-main.ts';
import type { AnalyseRows, RowVerdict } from './row-verdict.ts';

/** A graph that takes longer is unknown. */
const analysisMsMax = 20_000;
/** Memory of the process; a graph that needs more is unknown. */
const analysisHeapMbMax = 512;
/** Verdicts kept; the oldest is dropped first. */
const verdictsMax = 4096;
/** A process that was idle for this long is ended. */
const idleMs = 2_000;
/** What is found out about a file that changed less than this ago is not kept for other processes. */
const settledMs = 100;
const verdictKinds: readonly string[] = ['independent', 'dependent', 'unknown'] satisfies readonly RowVerdict['kind'][];

/** Keeps what was found out for the next process. */
export interface KeptVerdicts {
  get(key: string): unknown;
  put(key: string, value: string | RowVerdict): void;
}

export interface RowAnalystOptions {
  /** What `@millrace/onnx/row-analyst-main` resolves to, or a program that imports it. */
  readonly programPath: string;
  /** Starts the process; Node's own unless given. */
  readonly spawn?: typeof spawn;
  readonly msMax?: number;
  readonly heapMbMax?: number;
  /** Digests and verdicts that an earlier process found, and those that this one finds. */
  readonly kept?: KeptVerdicts;
}

export class RowAnalyst {
  readonly #programPath: string;
  readonly #spawn: typeof spawn;
  readonly #msMax: number;
  readonly #heapMbMax: number;
  readonly #kept: KeptVerdicts | undefined;
  /** By the file's digest. */
  readonly #verdicts = new Map<string, RowVerdict>();
  /** Digests by path, size and time of change, so that a file that did not change is not read again. */
  readonly #digests = new Map<string, string>();
  #child: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #answered: ((answer: AnalystAnswer) => void) | undefined;
  /** One question after the other: the process has one graph in memory at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: RowAnalystOptions) {
    const { programPath, msMax = analysisMsMax, heapMbMax = analysisHeapMbMax } = options;
    this.#programPath = programPath;
    this.#spawn = options.spawn ?? spawn;
    this.#msMax = msMax;
    this.#heapMbMax = heapMbMax;
    this.#kept = options.kept;
  }

  readonly analyse: AnalyseRows = (path) => {
    const verdict = this.#last.then(() => this.#verdictOf(path));
    this.#last = verdict;
    return verdict;
  };

  async #verdictOf(path: string): Promise<RowVerdict> {
    try {
      const { size, mtimeMs, ctimeMs, ino } = await stat(path);
      const file = `${path}|${size}|${mtimeMs}|${ino}`;
      const digest = this.#keptDigest(file) ?? (await this.#ask({ kind: 'digest', path }));
      if (typeof digest !== 'string') return digest;
      keep(this.#digests, file, digest);
      // One that has just changed may change again without another time.
      if (Date.now() - ctimeMs > settledMs) this.#kept?.put(`digest ${file}`, digest);
      const known = this.#verdicts.get(digest) ?? this.#keptVerdict(digest);
      if (known !== undefined) return known;
      const verdict = await this.#ask({ kind: 'analyse', path });
      if (typeof verdict === 'string') return notAnalysed(new Error('the process answered another question'));
      // A process that had to be killed gave no verdict on the graph: it is analysed again next time.
      if (this.#child !== undefined) {
        keep(this.#verdicts, digest, verdict);
        // Where no node decided, the file could not be read or analysed: that may pass.
        if (verdict.kind === 'independent' || verdict.node !== wholeGraph) this.#kept?.put(`rows ${digest}`, verdict);
      }
      return verdict;
    } catch (error) {
      return notAnalysed(error);
    }
  }

  #keptDigest(file: string): string | undefined {
    const kept = this.#digests.get(file) ?? this.#kept?.get(`digest ${file}`);
    return typeof kept === 'string' ? kept : undefined;
  }

  #keptVerdict(digest: string): RowVerdict | undefined {
    const kept = this.#kept?.get(`rows ${digest}`) as RowVerdict | undefined;
    return kept !== undefined && verdictKinds.includes(kept.kind) ? kept : undefined;
  }

  /** The process's answer, or the verdict that there is none. */
  #ask(question: AnalystQuestion): Promise<AnalystAnswer> {
    clearTimeout(this.#idle);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#fail(`it took longer than ${this.#msMax / 1000} s`), this.#msMax);
      this.#answered = (answer) => {
        clearTimeout(timer);
        this.#answered = undefined;
        this.#idle = setTimeout(() => this.#close(), idleMs);
        this.#idle.unref();
        resolve(answer);
      };
      this.#opened().send(question, (error) => {
        if (error !== null) this.#fail(error.message);
      });
    });
  }

  #fail(reason: string): void {
    this.#close();
    this.#answered?.(notAnalysed(new Error(reason)));
  }

  #opened(): ChildProcess {
    if (this.#child !== undefined) return this.#child;
    const child = this.#spawn(process.execPath, [`--max-old-space-size=${this.#heapMbMax}`, this.#programPath], {
      env: {},
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    // Events of a process that was closed are ignored.
    const ifCurrent = (act: () => void): void => {
      if (this.#child === child) act();
    };
    child.on('message', (answer) => ifCurrent(() => this.#answered?.(answer as AnalystAnswer)));
    child.on('error', (error) => ifCurrent(() => this.#fail(error.message)));
    child.on('exit', (code, signal) => ifCurrent(() => this.#fail(`its process ended (${signal ?? code})`)));
    // The program may exit while the process waits for questions; while one is open, its timer keeps the program alive.
    child.unref();
    child.channel?.unref();
    this.#child = child;
    return child;
  }

  #close(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}

function keep<Value>(table: Map<string, Value>, key: string, value: Value): void {
  table.set(key, value);
  const [oldest] = table.keys();
  if (table.size > verdictsMax && oldest !== undefined) table.delete(oldest);
}
