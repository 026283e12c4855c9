/** Has graphs made and served, chunk by chunk: the next chunk is made while one is served. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../../support/repository-root.ts';
import { ChunkServer } from './chunk-server.ts';
import { Generator } from './generator.ts';
import type { CaseResult } from './result.ts';
import type { ChunkOrder } from './serve-chunk.ts';

export const pythonDefault = join(repositoryRoot, '.cache/ci/python-oracle/bin/python');

export interface RunOptions {
  readonly python: string;
  /** The first seed, and how many follow. */
  readonly from: number;
  readonly graphs: number;
  readonly graphsInChunk: number;
  readonly serving: Omit<ChunkOrder, 'folder' | 'only'>;
}

export interface ServedChunk {
  readonly order: ChunkOrder;
  readonly results: readonly CaseResult[];
  readonly server: ChunkServer;
  /** Waits until the generator has made the chunk that it is busy with. */
  freeGenerator(): Promise<Generator>;
}

export interface RunNotes {
  /** Seeds that were left out, because their graph ended ONNX Runtime in Python. */
  readonly skipped: readonly number[];
  /** How many graphs were made and not taken, by the reason; each was followed by another attempt of the same seed. */
  readonly rejected: Readonly<Record<string, number>>;
}

export async function runGraphs(
  options: RunOptions,
  onChunk: (chunk: ServedChunk) => Promise<void> | void,
): Promise<RunNotes> {
  const { python, from, graphs, graphsInChunk, serving } = options;
  if (!existsSync(python)) throw new Error(`${python} is not there: run tests/oracle/run.sh once, or give --python`);
  const work = mkdtempSync(join(tmpdir(), 'millrace-oracle-'));
  const generator = new Generator(python, work);
  const server = new ChunkServer();
  const end = from + graphs;
  const rejected: Record<string, number> = {};
  const make = (at: number): Promise<string> | undefined => {
    if (at >= end) return undefined;
    const folder = join(work, `chunk-${at}`);
    const made = generator.make({ folder, from: at, count: Math.min(graphsInChunk, end - at) }).then((reply) => {
      for (const [reason, times] of Object.entries(reply.rejected)) rejected[reason] = (rejected[reason] ?? 0) + times;
      return folder;
    });
    // It is awaited when its turn comes; until then a failure has nobody to hear of it.
    made.catch(() => {});
    return made;
  };
  try {
    let next = make(from);
    for (let at = from; next !== undefined; at += graphsInChunk) {
      const folder = await next;
      next = make(at + graphsInChunk);
      const busy = next;
      const order = { ...serving, folder };
      const results = await server.serve(order);
      await onChunk({ order, results, server, freeGenerator: async () => busy?.then(() => generator) ?? generator });
      rmSync(folder, { recursive: true, force: true });
    }
    return { skipped: generator.ended, rejected };
  } finally {
    generator.stop();
    await server.stop();
    rmSync(work, { recursive: true, force: true });
  }
}
