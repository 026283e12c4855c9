/**
 * Events and actions of the group keeper, which keeps the workers of one group running. Every worker of a group is to
 * hold the group's models; a load is one model on one worker, so that loads succeed, fail and are retried separately.
 *
 * Rules that both sides rely on:
 * - `start-worker` is answered by `worker-started` or `worker-exited`; `worker-exited` is the last event of each process;
 * - `load` is answered by `loaded` or `load-failed`, unless the worker exits before;
 * - a worker keeps its id when its process is replaced; an id is never given to another worker.
 */
import type { ModelKey, WorkerId } from '../events.ts';

export type GroupEvent =
  /** The number of workers that the group should have; the first of these events starts it. */
  | { readonly kind: 'resized'; readonly workers: number }
  /** A further model is to be loaded by every worker of the group. */
  | { readonly kind: 'model-joined'; readonly model: ModelKey }
  /** The model is not needed any more, and none of its requests waits or runs. */
  | { readonly kind: 'model-left'; readonly model: ModelKey }
  /** The process accepts loads from now on. `inUse`: models that requests wait for, which are loaded first. */
  | { readonly kind: 'worker-started'; readonly worker: WorkerId; readonly inUse: readonly ModelKey[] }
  | { readonly kind: 'loaded'; readonly worker: WorkerId; readonly model: ModelKey }
  | {
      readonly kind: 'load-failed';
      readonly worker: WorkerId;
      readonly model: ModelKey;
      readonly reason: string;
      /** With the same files another attempt would fail as well. */
      readonly isFinal: boolean;
      /**
       * Positions of workers that do not take all requests that this one would, where nobody knows whether it ever will again:
       * requests must not wait for it. Absent: none.
       */
      readonly lesser?: readonly number[];
      /** In [0, 1): spreads the next attempt. */
      readonly jitter: number;
    }
  | {
      readonly kind: 'worker-exited';
      readonly worker: WorkerId;
      readonly reason: string;
      readonly batchesAnswered: number;
      /** In [0, 1): spreads the restart. */
      readonly jitter: number;
    }
  /** The group is not needed any more: its workers finish what they hold, or are killed. */
  | { readonly kind: 'stopped'; readonly isKilled: boolean }
  /** The time asked for by `wake-at` has come. At any other time it does no harm. */
  | { readonly kind: 'tick' };

export type GroupAction =
  /** `position` counts the workers of the group from 0; it says on which device the worker's instances are. */
  | { readonly kind: 'start-worker'; readonly worker: WorkerId; readonly position: number }
  | { readonly kind: 'load'; readonly worker: WorkerId; readonly model: ModelKey }
  | { readonly kind: 'unload'; readonly worker: WorkerId; readonly model: ModelKey }
  /** The worker finishes what it holds and exits. */
  | { readonly kind: 'stop-worker'; readonly worker: WorkerId }
  | { readonly kind: 'kill'; readonly worker: WorkerId }
  /** Requests of the model may be queued from now on. */
  | { readonly kind: 'add-model'; readonly model: ModelKey }
  /** Requests of the model are refused, those in its queue too. */
  | { readonly kind: 'remove-model'; readonly model: ModelKey }
  /** The worker may be given batches of the model. */
  | { readonly kind: 'serve'; readonly worker: WorkerId; readonly model: ModelKey }
  /** The worker is given no further batches of the model. */
  | { readonly kind: 'unserve'; readonly worker: WorkerId; readonly model: ModelKey }
  /** A worker can run the model: the first one, or one again after none could. */
  | { readonly kind: 'model-servable'; readonly model: ModelKey }
  /** No worker can run the model. `isFinal`: no load of the same files can succeed. */
  | { readonly kind: 'model-unservable'; readonly model: ModelKey; readonly reason: string; readonly isFinal: boolean }
  /** One worker cannot run the model, and others do. */
  | {
      readonly kind: 'model-short-of-worker';
      readonly model: ModelKey;
      readonly worker: WorkerId;
      readonly reason: string;
    }
  /** Every load of the worker has ended. */
  | { readonly kind: 'worker-ready'; readonly worker: WorkerId }
  /** The worker was told to end, for the first time. */
  | { readonly kind: 'worker-stopping'; readonly worker: WorkerId }
  /** The process has exited. `restartInMs` is undefined when it is not replaced. */
  | {
      readonly kind: 'worker-gone';
      readonly worker: WorkerId;
      readonly reason: string;
      readonly restartInMs: number | undefined;
    }
  /** Every worker has tried all its loads once, or has exited: no further worker will be ready soon. */
  | { readonly kind: 'settled' }
  /** The same of one model that joined. */
  | { readonly kind: 'model-settled'; readonly model: ModelKey }
  /** No worker holds or loads the model that left; nothing more will be said of it. */
  | { readonly kind: 'model-gone'; readonly model: ModelKey }
  /** Replaces the time asked for before; Infinity: there is nothing to wake for. */
  | { readonly kind: 'wake-at'; readonly at: number };
