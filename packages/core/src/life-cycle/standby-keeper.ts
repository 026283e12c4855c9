/**
 * Keeps processes of one kind of worker started that hold no model: the worker after a death takes one of them and only has to load.
 * Pure: events and the time go in, actions come out.
 *
 * There are some only while the kind is in use. They are started one at a time, a pause after the last start of a worker, which has the
 * processor for itself until then; those that exit by themselves are replaced after pauses that double.
 */
import { assert } from '../assert.ts';
import { type GrowingPause, pauseAfter } from '../restart-policy.ts';

export interface StandbyConfig {
  /** Processes that wait for a model; 0: none. */
  readonly processesMax: number;
  /** Between the last start of a worker, or of a standby, and that of the next standby; and how long standbys outlive the last worker. */
  readonly calmMs: number;
  /** After a standby has exited by itself. */
  readonly restart: GrowingPause;
  /** A standby that was up for this long has its count of deaths reset. */
  readonly stableMs: number;
}

export const defaultStandbyConfig: StandbyConfig = Object.freeze({
  processesMax: 0,
  calmMs: 1000,
  restart: Object.freeze({ pauseMs: 2000, pauseMsMax: 60_000 }),
  stableMs: 30_000,
});

function resolveStandbyConfig(options: Partial<StandbyConfig>): StandbyConfig {
  const config = Object.freeze({ ...defaultStandbyConfig, ...options });
  assert(config.processesMax >= 0, 'processesMax is not negative');
  assert(config.calmMs > 0, 'calmMs is positive');
  return config;
}

export type StandbyEvent =
  /** Processes that wait were started for a reason of their own. */
  | { readonly kind: 'prepared'; readonly processes: number }
  /** Nobody needs those any more. */
  | { readonly kind: 'preparation-ended' }
  /** A worker was opened, by a process that waited or by a new one. */
  | { readonly kind: 'worker-opened'; readonly hasWaited: boolean }
  | { readonly kind: 'worker-gone' }
  /** A process that waited has exited, and was not told to. `jitter`, in [0, 1): spreads the next start. */
  | { readonly kind: 'standby-gone'; readonly jitter: number }
  /** No worker is opened any more. */
  | { readonly kind: 'closed' }
  /** The time asked for by `wake-at` has come. At any other time it does no harm. */
  | { readonly kind: 'tick' };

export type StandbyAction =
  | { readonly kind: 'start-standby' }
  /** Ends so many of the processes that wait. */
  | { readonly kind: 'end-standbys'; readonly processes: number }
  /** Replaces the time asked for before; Infinity: there is nothing to wake for. */
  | { readonly kind: 'wake-at'; readonly at: number };

export class StandbyKeeper {
  readonly #config: StandbyConfig;
  #actions: StandbyAction[] = [];
  #workers = 0;
  #waiting = 0;
  #isPreparing: boolean = false;
  #isClosed: boolean = false;
  /** Standbys that exited by themselves, in a row. */
  #deaths = 0;
  #startedAt = Number.NEGATIVE_INFINITY;
  /** Nothing is started or ended before. */
  #notBefore = Number.NEGATIVE_INFINITY;
  #wakeAt = Number.POSITIVE_INFINITY;

  constructor(options: Partial<StandbyConfig> = {}) {
    this.#config = resolveStandbyConfig(options);
  }

  /** Processes that wait for a model. */
  get waiting(): number {
    return this.#waiting;
  }

  handle(event: StandbyEvent, nowMs: number): void {
    switch (event.kind) {
      case 'prepared':
        this.#waiting += event.processes;
        this.#isPreparing = true;
        break;
      case 'preparation-ended':
        this.#isPreparing = false;
        this.#end(this.#waiting - this.#config.processesMax);
        this.#keepCalm(nowMs);
        break;
      case 'worker-opened':
        this.#workers += 1;
        if (event.hasWaited) {
          this.#waiting -= 1;
          this.#deaths = 0;
        }
        this.#keepCalm(nowMs);
        break;
      case 'worker-gone':
        this.#workers -= 1;
        this.#keepCalm(nowMs);
        break;
      case 'standby-gone':
        this.#waiting -= 1;
        this.#deaths = nowMs - this.#startedAt >= this.#config.stableMs ? 1 : this.#deaths + 1;
        this.#notBefore = Math.max(
          this.#notBefore,
          nowMs + pauseAfter(this.#deaths, event.jitter, this.#config.restart),
        );
        break;
      case 'closed':
        this.#isClosed = true;
        this.#end(this.#waiting);
        break;
      case 'tick':
        this.#wakeAt = Number.POSITIVE_INFINITY;
        if (nowMs >= this.#notBefore) this.#doWhatIsDue(nowMs);
        break;
    }
    this.#askToWake();
  }

  /** The actions since the last call, in order. */
  takeActions(): readonly StandbyAction[] {
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }

  #keepCalm(nowMs: number): void {
    this.#notBefore = Math.max(this.#notBefore, nowMs + this.#config.calmMs);
  }

  #doWhatIsDue(nowMs: number): void {
    if (this.#lacks) {
      this.#waiting += 1;
      this.#startedAt = nowMs;
      this.#actions.push({ kind: 'start-standby' });
      this.#keepCalm(nowMs);
    } else if (this.#isUnused) {
      this.#end(this.#waiting);
    }
  }

  get #lacks(): boolean {
    return !this.#isClosed && this.#workers > 0 && this.#waiting < this.#config.processesMax;
  }

  get #isUnused(): boolean {
    return this.#workers === 0 && this.#waiting > 0 && !this.#isPreparing;
  }

  #end(processes: number): void {
    if (processes <= 0) return;
    this.#waiting -= processes;
    this.#actions.push({ kind: 'end-standbys', processes });
  }

  #askToWake(): void {
    const at = this.#lacks || this.#isUnused ? this.#notBefore : Number.POSITIVE_INFINITY;
    if (at === this.#wakeAt) return;
    this.#wakeAt = at;
    this.#actions.push({ kind: 'wake-at', at });
  }
}
