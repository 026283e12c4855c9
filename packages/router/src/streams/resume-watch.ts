/**
 * Notices the resumes of one stream and measures their gaps. A gap begins when the client is lost: when its connection is
 * detached, for a stream of an earlier process when this one has restored it, and for a connection that takes over from
 * one that is still attached when it opens. It ends with the first output or `ended` frame on the new connection, or with
 * `opened` if the stream owes the client nothing then: no unsent output, no unanswered input. If the new connection is
 * lost before, the gap goes on.
 */
import type { StreamObserver } from './stream-observer.ts';

export class ResumeWatch {
  readonly #observer: Pick<StreamObserver, 'streamResumed' | 'streamRejoined'>;
  /** The next connection is the one that opened the stream. */
  #isNew: boolean;
  #isRestored: boolean;
  #isTakeOver: boolean = false;
  /** Since when there has been no client. */
  #lostAt: number | undefined;
  /** Start of the gap that ends with the next output. */
  #gapSince: number | undefined;

  /** `restoredAt`: when the stream was restored from the journal; undefined: it is new. */
  constructor(observer: Pick<StreamObserver, 'streamResumed' | 'streamRejoined'>, restoredAt: number | undefined) {
    this.#observer = observer;
    this.#isNew = restoredAt === undefined;
    this.#isRestored = restoredAt !== undefined;
    this.#lostAt = restoredAt;
  }

  get isMeasuring(): boolean {
    return this.#gapSince !== undefined;
  }

  attaching(hasOther: boolean): void {
    this.#isTakeOver = hasOther;
  }

  /** The connection got its `opened` frame. */
  opened(nowMs: number): void {
    if (this.#isNew) {
      this.#isNew = false;
      return;
    }
    this.#gapSince = this.#lostAt ?? nowMs;
    this.#lostAt = undefined;
    this.#observer.streamResumed(this.#isRestored ? 'router-restart' : this.#isTakeOver ? 'take-over' : 'reconnect');
    this.#isRestored = false;
  }

  /** The client has what it waited for. */
  delivered(nowMs: number): void {
    if (this.#gapSince === undefined) return;
    this.#observer.streamRejoined(nowMs - this.#gapSince);
    this.#gapSince = undefined;
  }

  /** No connection is left. */
  lost(nowMs: number): void {
    this.#lostAt ??= this.#gapSince ?? nowMs;
    this.#gapSince = undefined;
  }
}
