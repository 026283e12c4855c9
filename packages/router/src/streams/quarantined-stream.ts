/** Ends a stream whose restoring killed routers, without reading what its log holds. */
import type { StreamEntry } from '@millrace/core';
import { InferenceError } from '@millrace/protocol';
import type { Journal } from '@millrace/store';
import { encodeEntry } from './entry-codec.ts';
import { encodeOpening } from './opening-record.ts';
import type { RestoreGuard, WatchedStream } from './restore-guard.ts';
import type { StreamClock } from './stream-clock.ts';
import type { StreamObserver } from './stream-observer.ts';

export interface QuarantineParts {
  readonly guard: RestoreGuard;
  readonly journal: Pick<Journal, 'list' | 'takeOver'>;
  readonly clock: Pick<StreamClock, 'wallNow'>;
  readonly observer: Pick<StreamObserver, 'streamEnded'>;
  readonly resumeWindowMs: number;
}

const owner = 'quarantine';

export class StreamQuarantine {
  readonly #parts: QuarantineParts;

  constructor(parts: QuarantineParts) {
    this.#parts = parts;
  }

  /** Restores a stream under the eyes of the guard. */
  run<T extends WatchedStream | undefined>(id: string, restore: () => Promise<T>): Promise<T> {
    return this.#parts.guard.run(id, restore);
  }

  /** Why it was ended; undefined: it may be restored. */
  async endIfPoison(id: string): Promise<InferenceError | undefined> {
    const { guard, observer } = this.#parts;
    if (!(await guard.isPoison(id))) return undefined;
    const deaths = await guard.deathsOf(id);
    const message = `the server died ${deaths} times while it restored stream ${id} and nothing else; it is not tried again, and its entries were removed: open a new one`;
    const error = new InferenceError('poison-stream', message);
    await this.#end(id, error);
    await guard.forget(id);
    observer.streamEnded('failed', error.code, false);
    return error;
  }

  /** Puts an opening that says nothing but the model, and the ending, in the place of its entries. */
  async #end(id: string, { code, message }: InferenceError): Promise<void> {
    const { journal, clock, resumeWindowMs } = this.#parts;
    const summary = (await journal.list()).find(({ stream }) => stream === id);
    const log = await journal.takeOver(id, owner, { isUnread: true });
    if (summary === undefined || log === undefined) return;
    const nowMs = clock.wallNow();
    const [model = '', version = ''] = summary.tag.split(':');
    const payload = encodeOpening({
      principal: '',
      caller: summary.account,
      context: '',
      parameters: {},
      parametersDigest: '',
      model,
      version,
      modelDigest: '',
      modelKind: 'independent',
      isResumable: true,
      exactness: undefined,
      openedAtMs: summary.createdAtMs,
      isQuarantined: true,
    });
    const entries: readonly StreamEntry<Uint8Array>[] = [
      { kind: 'opening', payload, expiresAt: Math.max(nowMs, log.expiresAtMs - resumeWindowMs) },
      { kind: 'ending', outcome: 'failed', error: { code, message }, outputs: 0, endedAt: nowMs },
    ];
    log.trim(await log.append([]), entries.map(encodeEntry));
    await log.close({ entriesExpireAtMs: nowMs + resumeWindowMs });
  }
}
