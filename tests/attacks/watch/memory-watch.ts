/** The router's memory (PSS): its own pages, and its share of those it shares with workers. */
import { readFileSync } from 'node:fs';

const sampleMs = 100;

/** Undefined once the process is gone. */
export function proportionalBytes(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1]) * 1024;
  } catch {
    return undefined;
  }
}

/**
 * Address space of memory that the router shares with workers, in use or kept for the next worker. Node counts all of it as memory
 * outside of the heap, whatever its pages are.
 */
export function sharedMappings(pid: number): { readonly count: number; readonly bytes: number } {
  let count = 0;
  let bytes = 0;
  for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
    if (!line.includes('/memfd:millrace')) continue;
    const [from, to] = (line.split(' ', 1)[0] as string).split('-').map((address) => Number.parseInt(address, 16));
    count += 1;
    bytes += (to as number) - (from as number);
  }
  return { count, bytes };
}

export class MemoryWatch {
  readonly #timer: NodeJS.Timeout;
  readonly #pid: number;
  peakBytes = 0;
  lastBytes = 0;

  constructor(pid: number) {
    this.#pid = pid;
    this.#sample();
    this.#timer = setInterval(() => this.#sample(), sampleMs);
  }

  #sample(): void {
    this.lastBytes = proportionalBytes(this.#pid) ?? this.lastBytes;
    this.peakBytes = Math.max(this.peakBytes, this.lastBytes);
  }

  stop(): void {
    this.#sample();
    clearInterval(this.#timer);
  }
}
