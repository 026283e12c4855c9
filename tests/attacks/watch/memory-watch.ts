/** The router's memory, as the system sees it. */
import { readFileSync } from 'node:fs';

const sampleMs = 100;
/** The page size in which `statm` counts, on every Linux that Node.js supports by default. */
const pageBytes = 4096;

/**
 * All pages of a process in memory, those that it shares included; undefined once it is gone. The kernel counts them as they come
 * and go. To share them out (PSS) it locks the memory map for a walk through all of it, and a reader that loses its core meanwhile
 * stops every thread of the process that maps memory: for 790 ms beside `chunk-extensions`.
 */
export function residentBytes(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * pageBytes;
  } catch {
    return undefined;
  }
}

/** Its own pages, and its share of those it shares with workers (PSS): not while its latency is measured. Undefined once it is gone. */
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
    this.lastBytes = residentBytes(this.#pid) ?? this.lastBytes;
    this.peakBytes = Math.max(this.peakBytes, this.lastBytes);
  }

  stop(): void {
    this.#sample();
    clearInterval(this.#timer);
  }
}
