/** What workers found out about generators, kept for the next load of the same files: a probe takes longer than the load itself. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { type GeneratorProbe, takeGeneratorProbe } from '@millrace/protocol';

/** Versions that are remembered; the one that was probed first is forgotten first. */
const versionsMax = 1024;

export class ProbeMemory {
  readonly #file: string | undefined;
  readonly #probes = new Map<string, GeneratorProbe>();

  /** With a file it outlives the router. A file that cannot be read or written costs a probe, and nothing else. */
  constructor(file: string | undefined) {
    this.#file = file;
    for (const [version, value] of Object.entries(file === undefined ? {} : readObject(file))) {
      const probe = takeGeneratorProbe(value);
      if (probe !== undefined && this.#probes.size < versionsMax) this.#probes.set(version, probe);
    }
  }

  /** Of other files, perhaps: its key tells. */
  take(version: string): GeneratorProbe | undefined {
    return this.#probes.get(version);
  }

  keep(version: string, probe: GeneratorProbe): void {
    if (this.#probes.get(version)?.key === probe.key) return;
    this.#probes.delete(version);
    this.#probes.set(version, probe);
    const [oldest] = this.#probes.keys();
    if (this.#probes.size > versionsMax && oldest !== undefined) this.#probes.delete(oldest);
    if (this.#file !== undefined) writeObject(this.#file, Object.fromEntries(this.#probes));
  }
}

function readObject(file: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** At once: there are few generators, and each is written once. */
function writeObject(file: string, value: object): void {
  try {
    writeFileSync(`${file}.new`, JSON.stringify(value), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    // The next router probes again.
  }
}
