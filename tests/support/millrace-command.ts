/** The command in a process of its own, as a user runs it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { repositoryRoot } from './repository-root.ts';

const program = join(repositoryRoot, 'packages/millrace/bin/millrace.js');

export interface CommandEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class MillraceCommand {
  readonly child: ChildProcess;
  readonly ended: Promise<CommandEnd>;
  #stdout = '';
  #stderr = '';
  #wake: () => void = () => {};

  constructor(args: readonly string[], input: string | Buffer = '') {
    this.child = spawn(process.execPath, [program, ...args], { stdio: 'pipe', cwd: repositoryRoot });
    this.child.stdin?.end(input);
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text;
      this.#wake();
    });
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
      this.#wake();
    });
    this.ended = once(this.child, 'close').then(([code]) => {
      this.#wake();
      return { code: code as number | null, stdout: this.#stdout, stderr: this.#stderr };
    });
  }

  /** Resolves when what it has written so far is as wanted; rejects if it ends before. */
  async until(isSo: (stdout: string, stderr: string) => boolean): Promise<void> {
    let end: CommandEnd | undefined;
    void this.ended.then((given) => {
      end = given;
      this.#wake();
    });
    while (!isSo(this.#stdout, this.#stderr)) {
      if (end !== undefined) throw new Error(`it ended with ${end.code} before:\n${end.stdout}\n${end.stderr}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
