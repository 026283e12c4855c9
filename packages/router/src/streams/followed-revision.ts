/**
 * The revision of a model version that a stream runs on. When it is retired, the stream looks for the version again: one with
 * the same files, such as a model that was moved to other workers, runs its further steps. Without one the stream ends after
 * a while.
 */
import type { StreamMachineEvent } from '@millrace/core';
import type { StreamClock } from './stream-clock.ts';
import { hasSameFiles, type StreamModels, type StreamPin } from './stream-models.ts';

export interface FollowedRevisionParts {
  readonly models: Pick<StreamModels, 'pinAgain'>;
  readonly clock: Pick<StreamClock, 'alarm'>;
  readonly settings: { readonly drainMsMax: number };
}

/** The part of a stream that hears of the end of its model. */
export interface FollowingStream {
  tell(event: StreamMachineEvent<Uint8Array> & { readonly kind: 'model-lost' }): void;
}

/** What came of looking for a successor; `unknown`: it could not be told now. */
export type SuccessorOutcome = 'followed' | 'none' | 'unknown';

/** A revision that steps in flight still run on. */
interface LeftRevision {
  readonly pin: StreamPin;
  steps: number;
}

export class FollowedRevision {
  readonly #parts: FollowedRevisionParts;
  #stream: FollowingStream | undefined;
  #pin: StreamPin | undefined;
  /** In flight on the present revision. */
  #steps = 0;
  #left: LeftRevision[] | undefined;
  /** Retirements are told by the number of the watch that a pin was asked for with. The present revision has the first at the start. */
  #watch = 1;
  #watchCount = 0;
  #retiredWatch = 0;
  #cancelEnd: (() => void) | undefined;
  #lookUp: Promise<SuccessorOutcome> | undefined;
  #isOver: boolean = false;

  constructor(parts: FollowedRevisionParts) {
    this.#parts = parts;
  }

  /** Undefined: none is found yet, or the model is gone and nothing is run. */
  get pin(): StreamPin | undefined {
    return this.#pin;
  }

  /** To be told of the retirement of a revision that is about to be pinned. */
  watch(): () => void {
    this.#watchCount += 1;
    const watch = this.#watchCount;
    return () => this.#noteRetired(watch);
  }

  /** The revision that was found for the stream, by the first watch. */
  hold(pin: StreamPin): void {
    this.#pin = pin;
    if (this.#cancelEnd !== undefined) void this.followSuccessor();
  }

  attach(stream: FollowingStream): void {
    this.#stream = stream;
  }

  /** A step is asked of the present revision, which stays until the step has ended. */
  beginStep(): StreamPin | undefined {
    if (this.#pin !== undefined) this.#steps += 1;
    return this.#pin;
  }

  /** The step that began on this revision is answered or refused. */
  endStep(pin: StreamPin): void {
    if (pin === this.#pin) {
      this.#steps -= 1;
      return;
    }
    const left = this.#left?.find((one) => one.pin === pin);
    if (left === undefined) return;
    left.steps -= 1;
    if (left.steps > 0) return;
    this.#left = this.#left?.filter((one) => one !== left);
    pin.release();
  }

  /** Looks for the version again. Calls that come meanwhile share one look-up. */
  followSuccessor(): Promise<SuccessorOutcome> {
    this.#lookUp ??= this.#look();
    return this.#lookUp;
  }

  /** Nothing is run any more. May be called more than once. */
  release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelEnd?.();
    this.#pin?.release();
    for (const { pin } of this.#left ?? []) pin.release();
    this.#left = undefined;
  }

  #noteRetired(watch: number): void {
    this.#retiredWatch = Math.max(this.#retiredWatch, watch);
    // One that is not followed yet counts once it is.
    if (watch !== this.#watch || this.#isOver) return;
    this.#cancelEnd ??= this.#parts.clock.alarm(this.#parts.settings.drainMsMax, () => void this.#endUnlessFollowed());
    void this.followSuccessor();
  }

  async #look(): Promise<SuccessorOutcome> {
    // Models are retired while their replacement is under way: the catalogue names that when the turn of the keeper is over.
    await Promise.resolve();
    try {
      return await this.#followed();
    } catch {
      return 'unknown';
    } finally {
      this.#lookUp = undefined;
      if (this.#retiredWatch === this.#watch && this.#cancelEnd === undefined) this.#noteRetired(this.#watch);
    }
  }

  async #followed(): Promise<SuccessorOutcome> {
    const present = this.#pin;
    if (present === undefined || this.#isOver) return 'none';
    const { name, version } = present.model.view;
    const onRetired = this.watch();
    const watch = this.#watchCount;
    const found = await this.#parts.models.pinAgain(name, version, onRetired);
    if (found === undefined) return 'none';
    if (this.#isOver || !isSuccessor(present, found)) {
      found.release();
      return 'none';
    }
    this.#cancelEnd?.();
    this.#cancelEnd = undefined;
    if (this.#steps === 0) present.release();
    else this.#left = [...(this.#left ?? []), { pin: present, steps: this.#steps }];
    this.#steps = 0;
    this.#pin = found;
    this.#watch = watch;
    return 'followed';
  }

  /** The files may not have been readable before, or the version was unloaded and is there again. */
  async #endUnlessFollowed(): Promise<void> {
    if ((await this.followSuccessor()) === 'followed' || this.#isOver) return;
    const message = 'the model version of the stream was replaced or unloaded; open a new stream';
    this.#stream?.tell({ kind: 'model-lost', error: { code: 'model-unloaded', message } });
  }
}

/** Whether the steps and the state of a stream can go from one revision to the other. */
function isSuccessor(present: StreamPin, found: StreamPin): boolean {
  if (found.revision === present.revision || !hasSameFiles(present.digest, found.digest)) return false;
  // The configuration says which tensors hold state.
  return present.model.hasStatesOf(found.model);
}
