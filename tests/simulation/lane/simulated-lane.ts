/**
 * A lane to simulated workers. Messages take time, keep their order, and are lost only when a worker dies; `gone` is the
 * last one. It keeps the contract of a lane (tests/contracts/lane.ts), and the referee of lanes sees all that passes.
 */
import type { DispatchMessage, FromWorker, Lane, Region, ToWorker, WorkerEnd, WorkerLink } from '@millrace/protocol';
import type { LaneReferee, LinkRecord } from '../referees/lane-referee.ts';
import type { SimulatedRepository } from '../repository/simulated-repository.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { SimulatedRegion } from './simulated-region.ts';
import { SimulatedWorker } from './simulated-worker.ts';

export interface SimulatedLaneParts {
  readonly world: SimulatedWorld;
  readonly repository: SimulatedRepository;
  readonly referee: LaneReferee;
}

export class SimulatedLane implements Lane {
  readonly name = 'local';
  readonly life = 'started';
  readonly #parts: SimulatedLaneParts;
  readonly #links = new Map<number, SimulatedLink>();
  #pidCount = 0;

  constructor(parts: SimulatedLaneParts) {
    this.#parts = parts;
  }

  open(receive: (message: FromWorker) => void): WorkerLink {
    this.#pidCount += 1;
    const pid = this.#pidCount;
    const link = new SimulatedLink(this.#parts, pid, (message) => {
      if (message.kind === 'gone') this.#links.delete(pid);
      receive(message);
    });
    this.#links.set(pid, link);
    return link;
  }

  /** Resident memory of a process; undefined when it has ended. */
  measure(pid: number): number | undefined {
    return this.#links.get(pid)?.worker.residentBytes;
  }

  /** Of all processes that were given a model. */
  residentBytes(): number {
    const used = [...this.#links.values()].filter(({ isStandby }) => !isStandby);
    return used.reduce((sum, { worker }) => sum + (worker.residentBytes ?? 0), 0);
  }

  /** Workers take more or fewer batches at once from here on. */
  changeCredit(batchesMaxMin: number): void {
    const { random } = this.#parts.world;
    for (const { worker } of this.#links.values()) {
      if (batchesMaxMin > 0 || random.chance(0.5)) worker.setCredit(random.integer(batchesMaxMin, 4));
    }
  }
}

export class SimulatedLink implements WorkerLink {
  readonly identity = undefined;
  readonly pid: number;
  readonly worker: SimulatedWorker;
  readonly #parts: SimulatedLaneParts;
  readonly #record: LinkRecord;
  readonly #receive: (message: FromWorker) => void;
  /** Memory that the router lent for batches that are not answered yet. */
  readonly #held = new Map<number, Region[]>();
  /** Sent by the worker and not yet arrived; a death takes some of them along. */
  readonly #inFlight: { isLost: boolean }[] = [];
  #isGone: boolean = false;
  #arrivesAtWorker = 0;
  #arrivesAtRouter = 0;

  constructor(parts: SimulatedLaneParts, pid: number, receive: (message: FromWorker) => void) {
    this.#parts = parts;
    this.pid = pid;
    this.#receive = receive;
    this.#record = parts.referee.opened(pid);
    this.worker = new SimulatedWorker(parts, this);
  }

  /** It was never given a model. */
  get isStandby(): boolean {
    return !this.#record.wasLoading;
  }

  lend(bytes: number): Region {
    const region = new SimulatedRegion(this.#parts.world, bytes, `lent by the link to process ${this.pid}`);
    this.#parts.referee.noteRegion(region);
    return region;
  }

  send(message: ToWorker): void {
    const { world, referee } = this.#parts;
    if (this.#isGone) {
      // Decided before the router heard of the end.
      if (message.kind === 'dispatch') this.worker.noteLate(message);
      if ('region' in message) message.region.release();
      return;
    }
    if (message.kind !== 'dispatch') world.note(`process ${this.pid} is told`, message);
    world.judge(() => referee.sent(this.#record, message));
    if (message.kind === 'dispatch') {
      this.#held.set(message.batch, [message.region]);
      this.worker.noteDispatch(message);
    } else if (message.kind === 'call-answered') {
      const held = this.#held.get(message.batch);
      if (held === undefined) {
        message.region.release();
        return;
      }
      held.push(message.region);
    }
    this.#arrive(() => this.worker.take(message));
  }

  stop(): void {
    this.#parts.world.note('stop process', this.pid);
    this.#parts.referee.stopped(this.#record);
    this.#arrive(() => this.worker.stop());
  }

  kill(): void {
    const { world, referee } = this.#parts;
    world.note('kill process', this.pid);
    world.judge(() => referee.killed(this.#record));
    world.timeline.after(world.latencyMs(), () => this.worker.die('ended-by-router'));
  }

  /** A message of the worker, which arrives after those before it. */
  deliver(message: FromWorker): void {
    const { world, referee } = this.#parts;
    const letter: { isLost: boolean } = { isLost: false };
    this.#inFlight.push(letter);
    this.#arrivesAtRouter = Math.max(this.#arrivesAtRouter, world.nowMs + world.latencyMs());
    world.timeline.at(this.#arrivesAtRouter, () => {
      if (letter.isLost) return;
      this.#inFlight.shift();
      if (message.kind === 'answered' || message.kind === 'failed') this.#releaseHeld(message.batch);
      if (message.kind === 'gone') {
        this.#isGone = true;
        this.worker.noteGone();
        for (const batch of [...this.#held.keys()]) this.#releaseHeld(batch);
      }
      if ('region' in message) referee.noteRegion(message.region as SimulatedRegion);
      if (message.kind !== 'answered') world.note(`process ${this.pid} says`, message);
      world.judge(() => referee.received(this.#record, message));
      this.#receive(message);
    });
  }

  /** What was on its way arrives up to some point, and nothing behind it; then the link says that the worker is gone. */
  end(isClean: boolean, reason: string, end: WorkerEnd): void {
    const { random } = this.#parts.world;
    const survivors = isClean ? this.#inFlight.length : random.integer(0, this.#inFlight.length);
    for (const letter of this.#inFlight.splice(survivors)) letter.isLost = true;
    this.deliver({ kind: 'gone', reason, end });
  }

  /** Batches that the router waits for. */
  outstanding(): readonly number[] {
    return [...this.#held.keys()];
  }

  /** In the order of sending. */
  #arrive(happen: () => void): void {
    const { world } = this.#parts;
    this.#arrivesAtWorker = Math.max(this.#arrivesAtWorker, world.nowMs + world.latencyMs());
    world.timeline.at(this.#arrivesAtWorker, happen);
  }

  #releaseHeld(batch: DispatchMessage['batch']): void {
    const held = this.#held.get(batch);
    this.#held.delete(batch);
    for (const region of held ?? []) region.release();
  }
}
