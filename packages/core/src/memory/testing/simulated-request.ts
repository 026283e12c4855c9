import type { LedgerHolder, LedgerLease } from '../memory-lease.ts';
import type { LedgerConnection } from '../memory-owner.ts';
import type { MemoryReferee } from './memory-referee.ts';

export interface RequestPlan {
  readonly bodyBytes: number;
  /** What arrives in a step. */
  readonly chunkBytes: number;
  /** What still arrives after it was asked to wait. */
  readonly windowBytes: number;
  /** Nothing arrives beyond this. */
  readonly silentAfterBytes: number;
  readonly runSteps: number;
  readonly answerBytes: number;
  /** Whether the body is taken up as it arrives, as the messages of a stream are. */
  readonly isStream: boolean;
}

/** An answer for which there is no room for longer is given up. */
const answerWaitStepsMax = 40;

export interface WireLimits {
  /** A request that waits for longer is refused. */
  readonly waitSteps: number;
  /** One that sends nothing for longer is ended. */
  readonly stallSteps: number;
}

/** A request as the wire would handle it, in steps instead of time. */
export class SimulatedRequest implements LedgerHolder {
  readonly owner: string;
  readonly connection: LedgerConnection;
  readonly lease: LedgerLease;
  readonly #plan: RequestPlan;
  readonly #limits: WireLimits;
  readonly #referee: MemoryReferee;
  /** What happens when it is told that there is memory, beside going on. */
  readonly #onTold: (request: SimulatedRequest) => void;
  state: 'arriving' | 'running' | 'answering' | 'ended' = 'arriving';
  outcome: 'answered' | 'refused' | 'stalled' | 'given up' | undefined = undefined;
  heldBytes = 0;
  isWaiting: boolean = false;
  isComplete: boolean = false;
  /** What it took at least since it was asked to wait. */
  overdraftBytes = 0;
  #arrivedBytes = 0;
  #windowBytes = 0;
  #idleSteps = 0;
  #ranSteps = 0;

  constructor(
    owner: string,
    connection: LedgerConnection,
    plan: RequestPlan,
    limits: WireLimits,
    referee: MemoryReferee,
    onTold: (request: SimulatedRequest) => void,
  ) {
    this.owner = owner;
    this.connection = connection;
    this.#plan = plan;
    this.#limits = limits;
    this.#referee = referee;
    this.#onTold = onTold;
    this.lease = connection.lease(this);
    referee.requests.add(this);
  }

  /** Steps until something else has to happen are counted from the last progress. */
  step(): void {
    this.#idleSteps += 1;
    if (this.isWaiting && this.#idleSteps > this.#limits.waitSteps) this.end('refused');
    else if (this.state === 'arriving') this.#arrive();
    else if (this.state === 'running' && !this.isWaiting) this.#run();
    else if (this.state === 'answering') this.#sendAnswer();
  }

  onMemory(): void {
    if (!this.isWaiting || this.state === 'ended') throw new Error('broken rule: only a lease that waits is told');
    this.#referee.note('told');
    this.isWaiting = false;
    this.overdraftBytes = 0;
    this.#idleSteps = 0;
    this.#onTold(this);
  }

  hold(bytes: number): void {
    const { large } = this.lease;
    const promisedBytes = large?.promisedBytes ?? 0;
    const before = {
      completionBytes: large?.completionBytes ?? 0,
      promisedBytes,
      isWaiting: this.isWaiting,
    };
    this.heldBytes += bytes;
    const verdict = this.lease.hold(bytes);
    if (verdict === 'waiting') this.overdraftBytes += large === undefined ? this.heldBytes : bytes - promisedBytes;
    this.#referee.judge(this, before, bytes, verdict);
    if (verdict === 'refused') {
      this.isWaiting = false;
      this.end('refused');
      return;
    }
    if (verdict === 'waiting' && !this.isWaiting) {
      this.isWaiting = true;
      this.#idleSteps = 0;
      this.#windowBytes = this.#plan.windowBytes;
    }
  }

  give(bytes: number): void {
    this.heldBytes -= bytes;
    this.overdraftBytes = Math.max(0, this.overdraftBytes - bytes);
    this.lease.give(bytes);
  }

  complete(): void {
    this.isComplete = true;
    this.lease.complete();
  }

  end(outcome: 'answered' | 'refused' | 'stalled' | 'given up'): void {
    if (this.state === 'ended') return;
    this.state = 'ended';
    this.outcome = outcome;
    this.#referee.note(outcome);
    this.isWaiting = false;
    this.heldBytes = 0;
    this.overdraftBytes = 0;
    this.#referee.requests.delete(this);
    this.lease.end();
  }

  #arrive(): void {
    const { bodyBytes, chunkBytes, silentAfterBytes, isStream } = this.#plan;
    const allowed = this.isWaiting ? this.#windowBytes : chunkBytes;
    const bytes = Math.min(chunkBytes, allowed, Math.min(bodyBytes, silentAfterBytes) - this.#arrivedBytes);
    if (bytes === 0) {
      if (!this.isWaiting && this.#idleSteps > this.#limits.stallSteps) this.end('stalled');
      return;
    }
    if (this.isWaiting) this.#windowBytes -= bytes;
    else this.#idleSteps = 0;
    this.#arrivedBytes += bytes;
    this.hold(bytes);
    if (this.state !== 'arriving') return;
    if (isStream && !this.isWaiting && this.#arrivedBytes % 3 === 0) this.give(this.heldBytes);
    if (this.#arrivedBytes < bodyBytes) return;
    this.state = 'running';
    this.complete();
  }

  #run(): void {
    const { runSteps, answerBytes } = this.#plan;
    this.#ranSteps += 1;
    if (this.#ranSteps <= runSteps) return;
    if (this.#ranSteps > runSteps + answerWaitStepsMax) this.end('refused');
    else if (this.lease.hasRoomFor(answerBytes)) {
      this.lease.count(answerBytes);
      this.heldBytes = answerBytes;
      this.state = 'answering';
      this.lease.keep(answerBytes);
    }
  }

  #sendAnswer(): void {
    if (this.heldBytes > this.#plan.chunkBytes) this.give(this.#plan.chunkBytes);
    else this.end('answered');
  }
}
