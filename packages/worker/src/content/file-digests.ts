/** SHA-256 of files, computed once for as long as a file is unchanged: by its size, times and inode, as a repository is watched. */
import { createHash } from 'node:crypto';
import { type BigIntStats, createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

export interface FileDigest {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
}

interface KeptDigest extends FileDigest {
  readonly fingerprint: string;
}

/** The files with the oldest digests are forgotten beyond this. */
const keptMax = 20_000;
/** A file that changed this recently may change again without another time stamp, so its digest is not kept. */
const settledMs = 100;
/** Hashed in well under a millisecond: a router has requests to answer meanwhile. */
const chunkBytes = 128 * 1024;

/** Keeps digests for the next process, by path and fingerprint. */
export interface LastingDigests {
  get(key: string): unknown;
  put(key: string, sha256: string): void;
}

export class FileDigests {
  readonly #kept = new Map<string, KeptDigest>();
  /** By path and fingerprint: files that are being read. */
  readonly #reading = new Map<string, Promise<string>>();
  readonly #read: (path: string) => Promise<string>;
  readonly #now: () => number;
  readonly #lasting: LastingDigests | undefined;

  /** `now` is the time of the system in milliseconds, as file systems state it. `lasting`: digests for other processes. */
  constructor(
    read: (path: string) => Promise<string> = sha256Of,
    now: () => number = Date.now,
    lasting?: LastingDigests,
  ) {
    this.#read = read;
    this.#now = now;
    this.#lasting = lasting;
  }

  /** Rejects when the file cannot be read, or changes while it is. */
  async of(path: string): Promise<FileDigest> {
    const before = await stat(path, { bigint: true });
    const fingerprint = fingerprintOfFile(before);
    const kept = this.#kept.get(path);
    if (kept?.fingerprint === fingerprint) return kept;
    const lasting = this.#lasting?.get(lastingKey(path, fingerprint));
    const sha256 = typeof lasting === 'string' ? lasting : await this.#readOnce(path, fingerprint);
    if (fingerprintOfFile(await stat(path, { bigint: true })) !== fingerprint) {
      throw new Error(`the file ${path} changed while it was read; load the model again when it is complete`);
    }
    const digest = { fingerprint, bytes: Number(before.size), sha256 };
    this.#kept.delete(path);
    if (this.#now() - Number(before.ctimeMs) > settledMs) this.#keep(path, digest);
    return digest;
  }

  /** Many streams of one model may ask at once. */
  #readOnce(path: string, fingerprint: string): Promise<string> {
    const key = `${fingerprint} ${path}`;
    const known = this.#reading.get(key);
    if (known !== undefined) return known;
    const reading = this.#read(path).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  #keep(path: string, digest: KeptDigest): void {
    this.#lasting?.put(lastingKey(path, digest.fingerprint), digest.sha256);
    this.#kept.set(path, digest);
    if (this.#kept.size <= keptMax) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      break;
    }
  }
}

function lastingKey(path: string, fingerprint: string): string {
  return `content ${path}|${fingerprint}`;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function fingerprintOfFile({ size, mtimeNs, ctimeNs, ino, dev }: BigIntStats): string {
  return `${size}/${mtimeNs}/${ctimeNs}/${ino}/${dev}`;
}
