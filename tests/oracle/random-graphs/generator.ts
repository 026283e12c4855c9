/** The Python process that makes chunks, ahead of the one that is being served. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { repositoryRoot } from '../../support/repository-root.ts';

export type GeneratorOrder =
  | { readonly folder: string; readonly from: number; readonly count: number; readonly skip?: readonly number[] }
  | { readonly folder: string; readonly shrink: string; readonly name: string };

interface Reply {
  readonly folder: string;
  readonly cases: number;
  readonly rejected: Readonly<Record<string, number>>;
}

const program = join(repositoryRoot, 'tests/oracle/random-graphs/generator/main.py');

export class Generator {
  readonly #python: string;
  readonly #noteFile: string;
  /** Seeds whose graph ended ONNX Runtime in Python itself. */
  readonly ended: number[] = [];
  #child: ChildProcess | undefined;
  #lines: Interface | undefined;

  constructor(python: string, folder: string) {
    this.#python = python;
    this.#noteFile = join(folder, 'seed-in-progress');
  }

  async make(order: GeneratorOrder): Promise<Reply> {
    for (let skip: readonly number[] = []; ; ) {
      const reply = await this.#take('from' in order ? { ...order, skip } : order);
      if (reply !== undefined) return reply;
      if (!('from' in order)) return { folder: order.folder, cases: 0, rejected: {} };
      const seed = Number(readFileSync(this.#noteFile, 'utf8'));
      if (skip.includes(seed)) throw new Error(`the generator ended twice at seed ${seed}`);
      this.ended.push(seed);
      skip = [...skip, seed];
    }
  }

  stop(): void {
    this.#child?.stdin?.end();
    this.#child = undefined;
  }

  /** Undefined: a signal ended the process. An error of the generator itself is no reason to leave out a graph. */
  #take(order: GeneratorOrder): Promise<Reply | undefined> {
    this.#child ??= this.#start();
    const child = this.#child;
    return new Promise((resolve, reject) => {
      const onClose = (): void => {
        this.#child = undefined;
        const judge = (): void => {
          if (child.signalCode !== null) resolve(undefined);
          else reject(new Error(`the generator exited with code ${child.exitCode}; it says above why`));
        };
        if (child.signalCode === null && child.exitCode === null) child.once('exit', judge);
        else judge();
      };
      this.#lines?.once('close', onClose);
      this.#lines?.once('line', (line) => {
        this.#lines?.off('close', onClose);
        resolve(JSON.parse(line) as Reply);
      });
      child.stdin?.write(`${JSON.stringify(order)}\n`);
    });
  }

  #start(): ChildProcess {
    const child = spawn(this.#python, [program, this.#noteFile], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin?.on('error', () => {});
    this.#lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    return child;
  }
}
