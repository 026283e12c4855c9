/**
 * One stream in this router: carries out what its machine decides, on its log, its steps and its links, and tells the machine
 * what came of it.
 */
import type {
  EndingOutcome,
  LinkFrame,
  LinkId,
  StreamError,
  StreamMachine,
  StreamMachineAction,
  StreamMachineEvent,
} from '@millrace/core';
import { type ErrorCode, InferenceError } from '@millrace/protocol';
import type { StreamLog } from '@millrace/store';
import { AwaitedInputs } from './awaited-inputs.ts';
import { encodeEntry } from './entry-codec.ts';
import { frameForLink } from './frame-for-link.ts';
import { LogAppends } from './log-appends.ts';
import type { ModelSteps } from './model-steps.ts';
import type { OpeningRecord } from './opening-record.ts';
import { ResumeWatch } from './resume-watch.ts';
import type { StreamListenerOfLink, StreamStatus } from './stream-gateway.ts';
import type { HeldMemory, StreamHoldings } from './stream-holdings.ts';
import type { StreamObserver } from './stream-observer.ts';
import { endedFrameFrom, endedRefusal, memoryRefusal, streamInferenceError } from './stream-refusals.ts';

/** The part of time that streams need: the system's, since their limits outlive a process. */
export interface StreamClock {
  /** Milliseconds since 1970. */
  wallNow(): number;
  /** Calls back once, early at most by what a timer's resolution is; returns a function that cancels it. */
  alarm(delayMs: number, callback: () => void): () => void;
  /** Milliseconds of the data plane's clock for a time of the wall clock. */
  planeTimeOf(wallMs: number): number;
}

export interface HostedStreamParts {
  readonly id: string;
  readonly opening: OpeningRecord;
  readonly expiresAtMs: number;
  readonly log: StreamLog;
  readonly machine: StreamMachine<Uint8Array>;
  readonly steps: ModelSteps;
  readonly clock: StreamClock;
  readonly observer: StreamObserver;
  readonly memory: StreamHoldings;
  /** Who its memory is charged to; empty: whoever comes first. */
  readonly caller: string;
  readonly warnings: readonly string[];
  /** Left in the journal by an earlier process. */
  readonly isRestored: boolean;
  /** Nothing will be run any more: its model is no longer needed. */
  readonly onEnded: () => void;
  /** The machine does nothing more. */
  readonly onOver: () => void;
}

/** After these the actions are carried out at the end of the turn. */
const frequentEvents: ReadonlySet<string> = new Set([
  'step-output',
  'step-done',
  'input',
  'acknowledged',
  'taken',
  'memory',
  'committed',
]);

export class HostedStream {
  readonly #parts: HostedStreamParts;
  readonly #links = new Map<LinkId, StreamListenerOfLink>();
  readonly #awaited = new AwaitedInputs();
  #isPerforming: boolean = false;
  #isPerformScheduled: boolean = false;
  #isOver: boolean = false;
  #hasEnded: boolean = false;
  /** It ended before this process had it. */
  readonly #wasEnded: boolean;
  readonly #resumes: ResumeWatch;
  #lateInputs = 0;
  #endWaiters: (() => void)[] = [];
  readonly #appends: LogAppends;
  readonly #memory: HeldMemory;
  #cancelAlarm: (() => void) | undefined;
  /** A link that is closed when every accepted input is answered. */
  #finishing: LinkId | undefined;

  constructor(parts: HostedStreamParts) {
    this.#parts = parts;
    this.#wasEnded = parts.machine.ending !== undefined;
    this.#resumes = new ResumeWatch(parts.observer, parts.isRestored ? parts.clock.wallNow() : undefined);
    this.#appends = new LogAppends(parts.log, (event) => this.tell(event));
    this.#memory = parts.memory.open(parts.caller, () =>
      this.tell({ kind: 'memory', isScarce: this.#memory.isScarce }),
    );
  }

  get id(): string {
    return this.#parts.id;
  }

  get opening(): OpeningRecord {
    return this.#parts.opening;
  }

  get epoch(): number {
    return this.#parts.log.epoch;
  }

  get isAttached(): boolean {
    return this.#links.size > 0;
  }

  get hasEnded(): boolean {
    return this.#parts.machine.ending !== undefined;
  }

  /** The link is registered before the machine hears of it, so that it can be closed at once. */
  attach(
    link: LinkId,
    listener: StreamListenerOfLink,
    caller: string,
    event: Omit<StreamMachineEvent<Uint8Array> & { kind: 'attached' }, 'kind' | 'link'>,
  ): void {
    this.#resumes.attaching(this.isAttached);
    this.#links.set(link, listener);
    this.#memory.adopt(caller);
    this.tell({ kind: 'attached', link, ...event });
  }

  detach(link: LinkId): void {
    if (!this.#links.delete(link)) return;
    this.#noteLinkGone();
    this.tell({ kind: 'detached', link });
  }

  /** The client says no more on this link. */
  finish(link: LinkId): void {
    this.#finishing = link;
    this.perform();
  }

  /** Resolves with the highest durable input once this one is. */
  accepted(sequence: number): Promise<number> {
    const { machine } = this.#parts;
    if (machine.acceptedInput >= sequence) return Promise.resolve(machine.acceptedInput);
    if (machine.ending !== undefined) return Promise.reject(endedRefusal(machine.ending.error));
    return this.#awaited.add(sequence);
  }

  /** Resolves when its ending is durable, or this router no longer has it. */
  whenEnded(): Promise<void> {
    if (this.#isOver || this.hasEnded) return Promise.resolve();
    return new Promise((resolve) => this.#endWaiters.push(resolve));
  }

  /** Whether its owner may hold an input of so many bytes, which is counted then. It is told next. */
  claim(bytes: number): boolean {
    return this.#isOver || this.#memory.claim(bytes);
  }

  tell(event: StreamMachineEvent<Uint8Array>): void {
    if (this.#isOver) return;
    const { machine, clock } = this.#parts;
    if (event.kind === 'input' && event.link !== undefined && !this.claim(event.input.payload?.byteLength ?? 0)) {
      // The input is not lost: it was not accepted, so the client sends it again when it resumes.
      this.#leaveLink(event.link, memoryRefusal());
      return;
    }
    machine.handle(event, clock.wallNow());
    if (frequentEvents.has(event.kind)) this.#performSoon();
    else this.perform();
  }

  /** Events of one read of a socket share an append to the log, and its commit. */
  #performSoon(): void {
    if (this.#isPerforming || this.#isPerformScheduled) return;
    this.#isPerformScheduled = true;
    queueMicrotask(() => {
      if (this.#isPerformScheduled) this.perform();
    });
  }

  /** Carries out what the machine has decided. */
  perform(): void {
    // What an action leads to at once is told to the machine, and carried out by the loop below.
    if (this.#isPerforming) return;
    this.#isPerforming = true;
    this.#isPerformScheduled = false;
    const { machine } = this.#parts;
    for (let actions = machine.takeActions(); actions.length > 0; actions = machine.takeActions()) {
      for (const action of actions) this.#carryOut(action);
    }
    this.#appends.flush();
    this.#isPerforming = false;
    if (!this.#hasEnded && machine.ending !== undefined) {
      this.#hasEnded = true;
      this.#noteEnd(machine.ending);
    }
    this.#awaited.settle(machine.acceptedInput, machine.ending);
    if (!this.#isOver) this.#memory.keep(machine.heldBytes);
    if (this.#finishing !== undefined && machine.isDelivered) this.#leaveLink(this.#finishing, undefined);
    if (machine.lateInputs !== this.#lateInputs) {
      this.#parts.observer.inputsLate(machine.lateInputs - this.#lateInputs);
      this.#lateInputs = machine.lateInputs;
    }
  }

  status(): StreamStatus {
    const { id, opening, expiresAtMs, log, machine, clock } = this.#parts;
    const { ending } = machine;
    return {
      id,
      model: opening.model,
      version: opening.version,
      epoch: log.epoch,
      isOwned: true,
      isAttached: this.isAttached,
      openedAtMs: opening.openedAtMs,
      ageMs: clock.wallNow() - opening.openedAtMs,
      expiresAtMs,
      acceptedInput: machine.acceptedInput,
      outputs: machine.outputs,
      journalBytes: machine.counts().logBytes,
      exactness: opening.exactness?.verdict,
      ended: ending && endedFrameFrom(ending),
    };
  }

  #carryOut(action: StreamMachineAction<Uint8Array>): void {
    const { steps, clock, log, observer } = this.#parts;
    switch (action.kind) {
      case 'append':
        this.#appends.add(action.number, action.entry);
        return;
      case 'trim':
        this.#appends.flush();
        log.trim(action.to, action.snapshot.map(encodeEntry));
        return;
      case 'send':
        this.#send(action.link, action.frame);
        return;
      case 'run': {
        const { step, input, state, outputsMax, deadlineAt, journaledOutputs } = action;
        if (journaledOutputs > 0 || action.isAlone) observer.stepRepeated(journaledOutputs);
        steps.run({ step, input, state, outputsMax, deadlineAt: clock.planeTimeOf(deadlineAt) });
        return;
      }
      case 'grant':
        steps.grant(action.step, action.outputsMax);
        return;
      case 'cancel-step':
        steps.cancel(action.step);
        return;
      case 'close-link':
        this.#closeLink(action.link, streamInferenceError(action.error));
        return;
      case 'wake-at':
        this.#wakeAt(action.at);
        return;
      case 'finished':
        this.#over(undefined);
        // Its id stays until then: a client that comes too late must not begin another stream without noticing.
        log.trim(this.#appends.durable, []);
        void log
          .close(action.expiresAt <= clock.wallNow() ? { remove: true } : { expiresAtMs: action.expiresAt })
          .catch(() => {});
        return;
      case 'release':
        this.#over(streamInferenceError(action.error));
        void log.close().catch(() => {});
        return;
    }
  }

  #send(link: LinkId, frame: LinkFrame<Uint8Array>): void {
    const listener = this.#links.get(link);
    if (listener === undefined) return;
    const isEnd = frame.kind === 'ended';
    if (isEnd) this.#links.delete(link);
    if (frame.kind === 'opened') this.#noteOpened(frame.nextOutput);
    else if (this.#resumes.isMeasuring && (frame.kind === 'output' || isEnd)) {
      this.#resumes.delivered(this.#parts.clock.wallNow());
    }
    listener.onFrame(frameForLink(frame, this.#parts));
    if (isEnd) listener.onClosed(undefined);
  }

  #closeLink(link: LinkId, error: InferenceError): void {
    const listener = this.#links.get(link);
    if (this.#links.delete(link)) this.#noteLinkGone();
    listener?.onClosed(error);
  }

  /** The host ends the connection, not the machine. */
  #leaveLink(link: LinkId, error: InferenceError | undefined): void {
    const listener = this.#links.get(link);
    if (this.#finishing === link) this.#finishing = undefined;
    this.detach(link);
    listener?.onClosed(error);
  }

  #noteOpened(nextOutput: number): void {
    const { machine, clock } = this.#parts;
    const nowMs = clock.wallNow();
    this.#resumes.opened(nowMs);
    const owesNothing = machine.outputs < nextOutput && !machine.hasUnanswered;
    if (owesNothing && !this.hasEnded) this.#resumes.delivered(nowMs);
  }

  #noteLinkGone(): void {
    if (!this.isAttached) this.#resumes.lost(this.#parts.clock.wallNow());
  }

  #noteEnd({ outcome, error }: { readonly outcome: EndingOutcome; readonly error: StreamError | undefined }): void {
    const { machine, observer, onEnded } = this.#parts;
    onEnded();
    this.#releaseEndWaiters();
    if (this.#wasEnded) return;
    observer.streamEnded(outcome, error?.code as ErrorCode | undefined, machine.isAbandoned);
  }

  #releaseEndWaiters(): void {
    for (const resolve of this.#endWaiters.splice(0)) resolve();
  }

  #wakeAt(at: number): void {
    const { clock } = this.#parts;
    this.#cancelAlarm?.();
    this.#cancelAlarm = clock.alarm(Math.max(0, at - clock.wallNow()), () => {
      this.#cancelAlarm = undefined;
      this.tell({ kind: 'tick' });
    });
  }

  #over(error: InferenceError | undefined): void {
    this.#isOver = true;
    this.#cancelAlarm?.();
    this.#memory.end();
    this.#parts.steps.cancelAll();
    const left = error ?? new InferenceError('stream-expired', 'the stream has ended and can no longer be resumed');
    for (const link of [...this.#links.keys()]) this.#closeLink(link, left);
    this.#awaited.rejectAll(left);
    this.#releaseEndWaiters();
    this.#parts.onOver();
  }
}
