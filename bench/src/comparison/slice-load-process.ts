/** The running program `load/slice-load`, on a core of its own. */
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { SliceCounts } from '../load/closed-loop.ts';
import { startPinned, stopped } from '../pinned-process.ts';
import { programPath } from '../run-program.ts';

export class SliceLoadProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  constructor(loadArguments: readonly string[]) {
    this.#child = startPinned(1, process.execPath, [programPath('load/slice-load'), ...loadArguments], 'pipe');
    // A load that ended early is reported by `run`, which reads the end of its output.
    this.#child.stdin?.on('error', () => {});
    if (this.#child.stdout === null) throw new Error('the load has no standard output');
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Throws when an answer is wrong. */
  async run(port: number, ms: number): Promise<SliceCounts> {
    this.#child.stdin?.write(`${port} ${ms}\n`);
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('the load ended early');
    const counts = JSON.parse(line.value) as SliceCounts;
    if (counts.wrong !== 0 || counts.answered === 0)
      throw new Error(`${counts.wrong} of ${counts.answered} answers were wrong`);
    return counts;
  }

  stop(): Promise<void> {
    return stopped(this.#child);
  }
}
