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
