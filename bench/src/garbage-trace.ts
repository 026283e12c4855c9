/** What V8 prints with `--trace-gc`, counted for one process. */
import type { Readable } from 'node:stream';

export interface GarbageCounts {
  readonly scavenges: number;
  readonly fullCollections: number;
  /** Those that V8 began because of memory outside of its heap. */
  readonly forcedByExternalMemory: number;
}

/** Counts from now on; the output of a server has lines of the processes below it too. */
export class GarbageTrace {
  readonly #line: RegExp;
  #text = '';

  constructor(output: Readable | null, pid: number) {
    this.#line = new RegExp(`^\\[${pid}:.* ms: (Scavenge|Mark-Compact|Mark-sweep)\\b(.*)$`, 'gm');
    output?.on('data', (chunk: Buffer | string) => {
      this.#text += String(chunk);
    });
  }

  counts(): GarbageCounts {
    let [scavenges, fullCollections, forcedByExternalMemory] = [0, 0, 0];
    for (const [, kind, rest] of this.#text.matchAll(this.#line)) {
      if (kind === 'Scavenge') scavenges++;
      else fullCollections++;
      if (rest?.includes('external')) forcedByExternalMemory++;
    }
    return { scavenges, fullCollections, forcedByExternalMemory };
  }
}
