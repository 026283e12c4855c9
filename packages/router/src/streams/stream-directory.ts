/** Streams for operators: those of this router, and those that only lie in the journal. */
import { restoredStreamFrom, type StreamEntry } from '@millrace/core';
import { InferenceError } from '@millrace/protocol';
import type { Journal, StreamLogView } from '@millrace/store';
import { cancelMessage } from './client-link.ts';
import { decodeEntry } from './entry-codec.ts';
import { decodeOpening } from './opening-record.ts';
import type { StreamClock } from './stream-clock.ts';
import type { StreamStatus } from './stream-gateway.ts';
import type { StreamOpenings } from './stream-openings.ts';
import { endedFrameFrom, orRefused, streamNotFound } from './stream-refusals.ts';
import type { StreamTable } from './stream-table.ts';

export interface StreamQuery {
  /** Undefined: all models. */
  readonly model: string | undefined;
  /** Leaves out those that have ended. */
  readonly isOpenOnly: boolean;
  /** Streams of the page at most. */
  readonly limit: number;
  /** The last stream of the page before; empty: the first page. */
  readonly after: string;
}

/** Ordered by id. */
export interface StreamPage {
  readonly streams: readonly StreamStatus[];
  /** The `after` of the next page; undefined: this is the last one. */
  readonly next: string | undefined;
}

/** What operators may see and do of streams, whoever opened them. Rejects with an `InferenceError`. */
export interface StreamControl {
  streams(query: StreamQuery): Promise<StreamPage>;
  /** By its id, or by the beginning of its id if no other begins so. Rejects with `stream-not-found` or `invalid-request`. */
  stream(id: string): Promise<StreamStatus>;
  /** Resolves when the ending is durable; a stream that has ended stays as it is. */
  cancelStream(id: string, reason: string): Promise<StreamStatus>;
}

export interface StreamDirectoryParts {
  readonly journal: Pick<Journal, 'list' | 'peek'>;
  readonly clock: Pick<StreamClock, 'wallNow'>;
}

export class StreamDirectory implements StreamControl {
  readonly #parts: StreamDirectoryParts;
  readonly #table: Pick<StreamTable, 'all' | 'take'>;
  readonly #openings: Pick<StreamOpenings, 'restored'>;

  constructor(
    parts: StreamDirectoryParts,
    table: Pick<StreamTable, 'all' | 'take'>,
    openings: Pick<StreamOpenings, 'restored'>,
  ) {
    this.#parts = parts;
    this.#table = table;
    this.#openings = openings;
  }

  async streams({ model, isOpenOnly, limit, after }: StreamQuery): Promise<StreamPage> {
    const streams: StreamStatus[] = [];
    for (const id of await this.#ids()) {
      if (id <= after) continue;
      const status = await this.#takeStatus(id);
      if (status === undefined || (model !== undefined && status.model !== model)) continue;
      if (isOpenOnly && status.ended !== undefined) continue;
      if (streams.length === limit) return { streams, next: streams.at(-1)?.id };
      streams.push(status);
    }
    return { streams, next: undefined };
  }

  async stream(id: string): Promise<StreamStatus> {
    const status = (await this.#takeStatus(id)) ?? (await this.#takeByPrefix(id));
    if (status === undefined) throw streamNotFound(id);
    return status;
  }

  async cancelStream(id: string, reason: string): Promise<StreamStatus> {
    // By the whole id only: what is cancelled does not come back.
    const before = await this.#takeStatus(id);
    if (before === undefined) throw streamNotFound(id);
    if (before.ended !== undefined) return before;
    const stream = this.#table.take(id) ?? (await orRefused(this.#openings.restored(id)));
    if (stream === undefined) throw streamNotFound(id);
    stream.tell({ kind: 'cancelled', link: undefined, message: cancelMessage('an operator', reason) });
    await stream.whenEnded();
    const status = stream.status();
    if (status.ended !== undefined) return status;
    throw new InferenceError('draining', `this server gave up stream ${id} before it was cancelled; cancel it again`);
  }

  /** Undefined: no id begins so. */
  async #takeByPrefix(prefix: string): Promise<StreamStatus | undefined> {
    const ids = (await this.#ids()).filter((id) => id.startsWith(prefix));
    if (prefix === '' || ids.length === 0) return undefined;
    const [only] = ids;
    if (only !== undefined && ids.length === 1) return this.#takeStatus(only);
    throw new InferenceError(
      'invalid-request',
      `${ids.length} streams have ids that begin with ${prefix}; write more of the id`,
    );
  }

  /** Sorted. */
  async #ids(): Promise<readonly string[]> {
    const journaled = await orRefused(this.#parts.journal.list());
    const ids = new Set(journaled.map(({ stream }) => stream));
    // The opening of a new one may not be durable yet.
    for (const { id } of this.#table.all()) ids.add(id);
    return [...ids].sort();
  }

  async #takeStatus(id: string): Promise<StreamStatus | undefined> {
    const known = this.#table.take(id)?.status();
    if (known !== undefined) return known;
    const { journal, clock } = this.#parts;
    const view = await orRefused(journal.peek(id));
    return view && journaledStatus(view, clock.wallNow());
  }
}

/** Undefined: its opening never became durable. */
function journaledStatus(view: StreamLogView, nowMs: number): StreamStatus | undefined {
  const entries: StreamEntry<Uint8Array>[] = [...view.snapshot, ...view.entries].map(decodeEntry);
  const [first] = entries;
  if (first?.kind !== 'opening') return undefined;
  const { model, version, openedAtMs, modelKind, exactness } = decodeOpening(first.payload);
  const { pending, finishedInput, outputs, ending } = restoredStreamFrom(entries, modelKind);
  return {
    id: view.stream,
    model,
    version,
    epoch: view.epoch,
    isOwned: false,
    isAttached: false,
    openedAtMs,
    ageMs: nowMs - openedAtMs,
    expiresAtMs: first.expiresAt,
    acceptedInput: pending.at(-1)?.entry.sequence ?? finishedInput,
    outputs,
    journalBytes: view.bytes,
    exactness: exactness?.verdict,
    ended: ending && endedFrameFrom(ending),
  };
}
