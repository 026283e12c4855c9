/**
 * What was found out about model files and follows from their content alone, kept for the next router of the same supervisor, which
 * would otherwise start processes to find it out again: digests, row verdicts, what pipelines declare. One file in a private folder,
 * written under another name and renamed. A file that is damaged, of another format or of other code is ignored and replaced.
 */
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Beyond this the entries that were not used for longest are dropped. */
export const readingCacheBytesMax = 8 * 1024 * 1024;
const format = 1;
const fileName = 'readings';
/** Entries that come close together are written together. */
const writeDelayMs = 100;

export interface ReadingCacheOptions {
  /** Undefined: what is put is kept in memory only. */
  readonly folder: string | undefined;
  /** Names the code that finds these things out: entries of other code are not used. */
  readonly code: string;
  readonly bytesMax?: number;
}

interface KeptEntry {
  readonly value: unknown;
  readonly bytes: number;
}

export class ReadingCache {
  readonly #path: string | undefined;
  readonly #code: string;
  readonly #bytesMax: number;
  /** The one that was not used for longest comes first. */
  readonly #entries = new Map<string, KeptEntry>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor({ folder, code, bytesMax = readingCacheBytesMax }: ReadingCacheOptions) {
    this.#path = folder && join(folder, fileName);
    this.#code = code;
    this.#bytesMax = bytesMax;
    for (const [key, value] of this.#read()) this.#keep(key, value);
  }

  /** What was put under the key, by this process or by one before it. */
  get(key: string): unknown {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** `value` must be the same after it was written as JSON and read. */
  put(key: string, value: unknown): void {
    this.#keep(key, value);
    if (this.#path === undefined) return;
    this.#timer ??= setTimeout(() => void this.write(), writeDelayMs).unref();
  }

  /** Resolves when what was put is in the file, or could not be written: then the next router finds it out again. */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  close(): Promise<void> {
    return this.#timer === undefined ? this.#writing : this.write();
  }

  #keep(key: string, value: unknown): void {
    const bytes = Buffer.byteLength(JSON.stringify([key, value]));
    this.#drop(key);
    if (bytes > this.#bytesMax) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }

  #read(): readonly (readonly [string, unknown])[] {
    if (this.#path === undefined) return [];
    try {
      const text = readFileSync(this.#path, 'utf8');
      const end = text.indexOf('\n');
      const body = text.slice(end + 1);
      const isOurs = text.slice(0, end) === this.#headOf(body);
      return isOurs ? (JSON.parse(body) as [string, unknown][]) : [];
    } catch {
      return [];
    }
  }

  async #write(): Promise<void> {
    if (this.#path === undefined) return;
    const body = JSON.stringify([...this.#entries].map(([key, { value }]) => [key, value]));
    const written = `${this.#path}.${randomUUID()}`;
    try {
      await writeFile(written, `${this.#headOf(body)}\n${body}`, { mode: 0o600, flag: 'wx' });
      await rename(written, this.#path);
    } catch {
      await rm(written, { force: true }).catch(() => {});
    }
  }

  #headOf(body: string): string {
    const sha256 = createHash('sha256').update(body).digest('hex');
    return JSON.stringify({ format, code: this.#code, sha256 });
  }
}
