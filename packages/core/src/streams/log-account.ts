/** The journal of a stream as far as the machine has to know it: entry numbers, what is durable, what a trim would save. */
import { type SizedPayload, type StreamEntry, streamEntryBytes } from './stream-entries.ts';
import type { StreamMachineConfig } from './stream-machine-config.ts';
import type { StreamMachineAction } from './stream-machine-events.ts';

interface PlannedTrim<Payload> {
  readonly to: number;
  readonly snapshot: readonly StreamEntry<Payload>[];
  readonly bytes: number;
  /** Size of the log up to `to`. */
  readonly replacedBytes: number;
  readonly replacedEntries: number;
}

export class LogAccount<Payload extends SizedPayload> {
  readonly #config: StreamMachineConfig;
  #last: number;
  #committed: number;
  #bytes = 0;
  #entries = 0;
  #trim: PlannedTrim<Payload> | undefined;

  /** `entries`: what the log holds, whose last one has the number `last`. */
  constructor(config: StreamMachineConfig, entries: readonly StreamEntry<Payload>[], last: number) {
    this.#config = config;
    this.#last = last;
    this.#committed = last;
    this.#entries = entries.length;
    for (const entry of entries) this.#bytes += streamEntryBytes(entry);
  }

  get last(): number {
    return this.#last;
  }

  get committed(): number {
    return this.#committed;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get entries(): number {
    return this.#entries;
  }

  /** Counts an entry that is appended; its number. */
  add(entry: StreamEntry<Payload>): number {
    this.#last += 1;
    this.#bytes += streamEntryBytes(entry);
    this.#entries += 1;
    return this.#last;
  }

  /** The log could lose more than it has to keep: a checkpoint and these entries. While the journal is scarce, less is enough. */
  isStale(keptBytes: number, keptEntries: number, isScarce: boolean): boolean {
    if (this.#trim !== undefined) return false;
    const { staleBytesMin, staleEntriesMin, scarceStaleBytesMin } = this.#config;
    if (isScarce && this.#bytes - keptBytes >= scarceStaleBytesMin) return true;
    return (
      this.#bytes - keptBytes >= keptBytes + staleBytesMin ||
      this.#entries - keptEntries >= keptEntries + staleEntriesMin
    );
  }

  /** As soon as the last entry, a checkpoint, is durable, the snapshot takes the place of everything up to it. */
  planTrim(snapshot: readonly StreamEntry<Payload>[]): void {
    let bytes = 0;
    for (const entry of snapshot) bytes += streamEntryBytes(entry);
    const [replacedBytes, replacedEntries] = [this.#bytes, this.#entries];
    this.#trim = { to: this.#last, snapshot, bytes, replacedBytes, replacedEntries };
  }

  /** Entries up to this number are durable; the trim that may be carried out now. */
  commit(number: number): StreamMachineAction<Payload> | undefined {
    this.#committed = Math.max(this.#committed, Math.min(number, this.#last));
    const trim = this.#trim;
    if (trim === undefined || this.#committed < trim.to) return undefined;
    this.#trim = undefined;
    this.#bytes += trim.bytes - trim.replacedBytes;
    this.#entries += trim.snapshot.length - trim.replacedEntries;
    return { kind: 'trim', to: trim.to, snapshot: trim.snapshot };
  }

  /** The entries that are not durable were refused: their numbers are used again. */
  rollBack(): void {
    this.#last = this.#committed;
    this.#trim = undefined;
  }
}
