/** What the router and its journal take over the run: memory of the process, bytes on the disk. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerProcess } from '../../support/server-process.ts';

export interface UsageSample {
  readonly second: number;
  readonly residentBytes: number;
  readonly journalBytes: number;
}

export class JournalWatch {
  readonly samples: UsageSample[] = [];
  readonly #server: ServerProcess;
  readonly #folder: string;
  readonly #startedAt = performance.now();

  /** `folder`: that the supervisor's private folder is in. */
  constructor(server: ServerProcess, folder: string) {
    this.#server = server;
    this.#folder = folder;
  }

  sample(): void {
    let residentBytes: number;
    try {
      residentBytes = this.#server.residentBytes();
    } catch {
      // The router was killed a moment ago.
      return;
    }
    if (Number.isNaN(residentBytes)) return;
    const second = Math.round((performance.now() - this.#startedAt) / 1000);
    this.samples.push({ second, residentBytes, journalBytes: journalBytesIn(this.#folder) });
  }

  /** The largest of the first and of the last part of the run. */
  growthOf(field: 'residentBytes' | 'journalBytes'): { readonly before: number; readonly after: number } {
    const half = Math.floor(this.samples.length / 2);
    const most = (samples: readonly UsageSample[]): number => Math.max(0, ...samples.map((sample) => sample[field]));
    return { before: most(this.samples.slice(0, half)), after: most(this.samples.slice(half)) };
  }
}

function journalBytesIn(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.parentPath.endsWith('/journal')) continue;
    try {
      bytes += statSync(join(entry.parentPath, entry.name)).size;
    } catch {
      // It was removed meanwhile.
    }
  }
  return bytes;
}
