/**
 * A lane whose first workers are started before anyone asks for them: a process takes as long to start as a repository to read, and
 * neither waits for the other.
 */
import type { FromWorker, Lane, WorkerLink } from '@millrace/protocol';

export class PreparedLane implements Lane {
  readonly name: Lane['name'];
  readonly life: Lane['life'];
  readonly #lane: Lane;
  readonly #waiting: PreparedWorker[] = [];

  constructor(lane: Lane) {
    this.#lane = lane;
    this.name = lane.name;
    this.life = lane.life;
  }

  /** Starts workers until so many wait to be opened. */
  prepare(workers: number): void {
    while (this.#waiting.length < workers) this.#waiting.push(new PreparedWorker(this.#lane));
  }

  open(receive: (message: FromWorker) => void): WorkerLink {
    for (let worker = this.#waiting.shift(); worker !== undefined; worker = this.#waiting.shift()) {
      if (!worker.isGone) return worker.opened(receive);
    }
    return this.#lane.open(receive);
  }

  /** Ends the workers that nobody has opened. */
  release(): void {
    for (const { link } of this.#waiting.splice(0)) link.kill();
  }
}

/** A worker that is starting, with what it said before it was opened. */
class PreparedWorker {
  readonly link: WorkerLink;
  isGone: boolean = false;
  readonly #said: FromWorker[] = [];
  #receive: ((message: FromWorker) => void) | undefined;

  constructor(lane: Lane) {
    this.link = lane.open((message) => {
      if (this.#receive !== undefined) {
        this.#receive(message);
        return;
      }
      this.#said.push(message);
      this.isGone ||= message.kind === 'gone';
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
