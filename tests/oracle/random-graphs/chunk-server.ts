/** Has chunks served in another process, so that a graph that ends it is found and the others go on. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { readChunk } from './case.ts';
import type { CaseResult } from './result.ts';
import { type ChunkOrder, laneOfSeed } from './serve-chunk.ts';

/** What ONNX Runtime keeps of unloaded models adds up: the process is replaced after so many chunks. */
const chunksMax = 40;

type Reply = { readonly results: readonly CaseResult[] } | { readonly error: string };

export class ChunkServer {
  #child: ChildProcess | undefined;
  #chunks = 0;

  async serve(order: ChunkOrder): Promise<readonly CaseResult[]> {
    const results = await this.#take(order);
    if (results !== undefined) return results;
    // The process ended: halves are served until the graph that ended it is alone.
    const cases = readChunk(order.folder).filter(({ name }) => order.only === undefined || order.only.includes(name));
    const names = cases.map(({ name }) => name);
    if (names.length > 1) {
      const middle = Math.ceil(names.length / 2);
      const first = await this.serve({ ...order, only: names.slice(0, middle) });
      return [...first, ...(await this.serve({ ...order, only: names.slice(middle) }))];
    }
    return cases.map((graph) => ({
      seed: graph.seed,
      name: graph.name,
      lane: order.lane ?? laneOfSeed(graph.seed),
      independent: graph.independent,
      stacked: graph.stacked,
      operators: graph.operators,
      verdict: 'unknown',
      reason: 'the process ended',
      blamed: '',
      answers: 0,
      sharedRuns: 0,
      failures: [{ kind: 'crash', message: 'the serving process ended' }],
    }));
  }

  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.disconnect();
    await once(child, 'exit');
  }

  /** Undefined: the process ended before it answered. */
  async #take(order: ChunkOrder): Promise<readonly CaseResult[] | undefined> {
    if (this.#chunks >= chunksMax) await this.stop();
    if (this.#child === undefined) {
      this.#child = fork(fileURLToPath(new URL('./serving-process.js', import.meta.url)));
      this.#chunks = 0;
    }
    this.#chunks++;
    const child = this.#child;
    const reply = await new Promise<Reply | undefined>((resolve) => {
      const onExit = (): void => resolve(undefined);
      child.once('exit', onExit);
      child.once('message', (message) => {
        child.off('exit', onExit);
        resolve(message as Reply);
      });
      child.send(order);
    });
    if (reply === undefined) this.#child = undefined;
    else if ('error' in reply) throw new Error(reply.error);
    return reply?.results;
  }
}
