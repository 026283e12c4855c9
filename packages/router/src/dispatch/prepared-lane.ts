/**
 * A lane whose next workers are started before anyone asks for them. At the start of a server a process takes as long to start as a
 * repository to read, and neither waits for the other. Later there are standbys: after the death of a worker the next one only has to load.
 * How many, and when, is decided by packages/core/src/life-cycle/standby-keeper.ts.
 */
import { type StandbyConfig, type StandbyEvent, StandbyKeeper } from '@millrace/core';
import type { FromWorker, Lane, WorkerLink } from '@millrace/protocol';
import type { Clock } from '../data-plane/clock.ts';

export interface PreparedLaneParts {
  readonly lane: Lane;
  readonly clock: Pick<Clock, 'now' | 'alarm'>;
  /** In [0, 1): jitter of restarts. */
  readonly random: () => number;
  /** None unless given. */
  readonly standby?: Partial<StandbyConfig>;
  /** Called when the number of processes that wait has changed. */
  readonly onChange?: () => void;
}

export class PreparedLane implements Lane {
  readonly name: Lane['name'];
  readonly life: Lane['life'];
  readonly #parts: PreparedLaneParts;
  readonly #keeper: StandbyKeeper;
  readonly #waiting: PreparedWorker[] = [];
  #cancelWake: (() => void) | undefined;

  constructor(parts: PreparedLaneParts) {
    const { lane, standby } = parts;
    this.#parts = parts;
    // Workers that run on their own are started by nobody here.
    this.#keeper = new StandbyKeeper(lane.life === 'started' ? standby : {});
    this.name = lane.name;
    this.life = lane.life;
  }

  /** Processes that wait for a model. */
  get standbys(): number {
    return this.#keeper.waiting;
  }

  /** Starts workers until so many wait to be opened. */
  prepare(workers: number): void {
    const processes = Math.max(0, workers - this.#waiting.length);
    for (let started = 0; started < processes; started += 1) this.#start();
    this.#tell({ kind: 'prepared', processes });
  }

  open(receive: (message: FromWorker) => void): WorkerLink {
    const waiting = this.#waiting.shift();
    const told = (message: FromWorker): void => {
      receive(message);
      if (message.kind === 'gone') this.#tell({ kind: 'worker-gone' });
    };
    const link = waiting === undefined ? this.#parts.lane.open(told) : waiting.opened(told);
    this.#tell({ kind: 'worker-opened', hasWaited: waiting !== undefined });
    return link;
  }

  /** Ends the prepared workers that nobody has opened. */
  release(): void {
    this.#tell({ kind: 'preparation-ended' });
  }

  /** Ends all that wait; none is started any more, except those that are opened. */
  close(): void {
    this.#tell({ kind: 'closed' });
  }

  #start(): void {
    const started = new PreparedWorker(this.#parts.lane, () => {
      const at = this.#waiting.indexOf(started);
      // One that was told to end is not in the list.
      if (at === -1) return;
      this.#waiting.splice(at, 1);
      this.#tell({ kind: 'standby-gone', jitter: this.#parts.random() });
    });
    this.#waiting.push(started);
  }

  #tell(event: StandbyEvent): void {
    const { clock, onChange } = this.#parts;
    const before = this.#keeper.waiting;
    this.#keeper.handle(event, clock.now());
    for (const action of this.#keeper.takeActions()) {
      if (action.kind === 'start-standby') this.#start();
      else if (action.kind === 'wake-at') this.#wakeAt(action.at);
      else for (const { link } of this.#waiting.splice(-action.processes)) link.kill();
    }
    if (this.#keeper.waiting !== before) onChange?.();
  }

  #wakeAt(at: number): void {
    const { clock } = this.#parts;
    this.#cancelWake?.();
    this.#cancelWake = undefined;
    if (at === Number.POSITIVE_INFINITY) return;
    this.#cancelWake = clock.alarm(Math.max(0, at - clock.now()), () => this.#tell({ kind: 'tick' }));
  }
}

/** A worker that is starting or waits, with what it said before it was opened. */
class PreparedWorker {
  readonly link: WorkerLink;
  readonly #said: FromWorker[] = [];
  #receive: ((message: FromWorker) => void) | undefined;

  constructor(lane: Lane, onGone: () => void) {
    this.link = lane.open((message) => {
      if (this.#receive !== undefined) {
        this.#receive(message);
        return;
      }
      this.#said.push(message);
      if (message.kind === 'gone') onGone();
    });
  }

  opened(receive: (message: FromWorker) => void): WorkerLink {
    // `receive` is never called from inside `open`.
    queueMicrotask(() => {
      for (let message = this.#said.shift(); message !== undefined; message = this.#said.shift()) receive(message);
      this.#receive = receive;
    });
    return this.link;
  }
}
