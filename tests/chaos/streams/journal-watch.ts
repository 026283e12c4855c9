/** What the router and its journal take over the run: memory of the process, bytes on the disk. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerProcess } from '../../support/server-process.ts';

export interface UsageSample {
  readonly second: number;
  /**
   * Resident memory of the router without the pages of the journal's file that it has mapped. These belong to the file: the system
   * takes them back when it needs them, and there are as many as the file has, whose size has a check of its own.
   */
  readonly memoryBytes: number;
  /** Those pages. */
  readonly mappedBytes: number;
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
    let memory: { readonly memoryBytes: number; readonly mappedBytes: number };
    try {
      memory = memoryFrom(readFileSync(`/proc/${this.#server.routerPid}/smaps`, 'utf8'));
    } catch {
      // The router was killed a moment ago.
      return;
    }
    if (memory.memoryBytes === 0) return;
    const second = Math.round((performance.now() - this.#startedAt) / 1000);
    this.samples.push({ second, ...memory, journalBytes: journalBytesIn(this.#folder) });
  }

  /** The largest of the first and of the last part of the run. */
  growthOf(field: 'memoryBytes' | 'journalBytes'): { readonly before: number; readonly after: number } {
    const half = Math.floor(this.samples.length / 2);
    const most = (samples: readonly UsageSample[]): number => Math.max(0, ...samples.map((sample) => sample[field]));
    return { before: most(this.samples.slice(0, half)), after: most(this.samples.slice(half)) };
  }
}

/** From the mappings of a process, each of which is a line with its file and lines with its figures. */
function memoryFrom(smaps: string): { readonly memoryBytes: number; readonly mappedBytes: number } {
  let [memoryBytes, mappedBytes, isJournal] = [0, 0, false];
  for (const line of smaps.split('\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) isJournal = line.endsWith('/journal/data.mdb');
    if (!line.startsWith('Rss:')) continue;
    const bytes = Number.parseInt(line.slice('Rss:'.length), 10) * 1024;
    if (isJournal) mappedBytes += bytes;
    else memoryBytes += bytes;
  }
  return { memoryBytes, mappedBytes };
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
