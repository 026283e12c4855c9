/**
 * One stream in this router: carries out what its machine decides, on its log, its steps and its links, and tells the machine
 * what came of it.
 */
import type {
  EndingOutcome,
  LinkFrame,
  LinkId,
  StreamError,
  StreamMachineAction,
  StreamMachineCounts,
  StreamMachineEvent,
  StreamStepId,
} from '@millrace/core';
import { type CancelSignal, type ErrorCode, InferenceError } from '@millrace/protocol';
import { AwaitedInputs } from './awaited-inputs.ts';
import { encodeEntry } from './entry-codec.ts';
import { frameForLink } from './frame-for-link.ts';
import { frequentEvents, type HostedClient, type HostedStreamParts } from './hosted-stream-parts.ts';
import { hostedStreamStatus } from './hosted-stream-status.ts';
import { type AppendListener, LogAppends } from './log-appends.ts';
import type { ModelSteps, StepListener } from './model-steps.ts';
import type { OpeningRecord } from './opening-record.ts';
import { ResumeWatch } from './resume-watch.ts';
import type { WokenStream } from './stream-alarms.ts';
import type { StreamStatus } from './stream-gateway.ts';
import type { HeldMemory, ScarcityListener } from './stream-holdings.ts';
import { endedRefusal, memoryRefusal, streamInferenceError } from './stream-refusals.ts';

const none: readonly never[] = [];

/** Most streams are idle: what they do not need until then is made later, and they listen themselves instead of by closures. */
export class HostedStream implements AppendListener, ScarcityListener, StepListener, WokenStream {
  heapIndex = -1;
  wakeAtMs = 0;
  readonly #parts: HostedStreamParts;
  readonly #steps: ModelSteps;
  /** The current one, and while it takes over or is refused another one. */
  #clients: readonly HostedClient[] = none;
  #awaited: AwaitedInputs | undefined;
  #isPerforming: boolean = false;
  #isPerformScheduled: boolean = false;
  #isOver: boolean = false;
  #hasRoom: boolean = true;
  #hasEnded: boolean = false;
  /** It ended before this process had it. */
  readonly #wasEnded: boolean;
  readonly #resumes: ResumeWatch;
  #lateInputs = 0;
  #endWaiters: (() => void)[] | undefined;
  readonly #appends: LogAppends;
  readonly #memory: HeldMemory;
  /** A link that is closed when every accepted input is answered. */
  #finishing: LinkId | undefined;

  constructor(parts: HostedStreamParts, stepsFor: (listener: StepListener) => ModelSteps) {
    this.#parts = parts;
    this.#steps = stepsFor(this);
    this.#wasEnded = parts.machine.ending !== undefined;
    this.#resumes = new ResumeWatch(parts.observer, parts.isRestored ? parts.clock.wallNow() : undefined);
    this.#appends = new LogAppends(parts.log, this, parts.pauses);
    this.#memory = parts.memory.open(parts.caller, this);
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

  get pin(): HostedStreamParts['revision']['pin'] {
    return this.#parts.revision.pin;
  }

  get counts(): StreamMachineCounts {
    return this.#parts.machine.counts();
  }

  get isAttached(): boolean {
    return this.#clients.length > 0;
  }

  get hasEnded(): boolean {
    return this.#parts.machine.ending !== undefined;
  }

  /** The link is registered before the machine hears of it, so that it can be closed at once. */
  attach(
    client: HostedClient,
    caller: string,
    event: Omit<StreamMachineEvent<Uint8Array> & { kind: 'attached' }, 'kind' | 'link'>,
  ): void {
    this.#resumes.attaching(this.isAttached);
    this.#clients = [...this.#clients, client];
    if (this.#appends.clientNoted !== undefined) client.holdBack(this.#appends.clientNoted);
    this.#memory.adopt(caller);
    this.tell({ kind: 'attached', link: client.id, ...event });
  }

  detach(link: LinkId): void {
    if (this.#takeClient(link) === undefined) return;
    this.#noteLinkGone();
    this.tell({ kind: 'detached', link });
  }

  /** The client says no more on this link. */
  finish(link: LinkId): void {
    this.#finishing = link;
    this.perform();
  }

  /** Resolves with the highest durable input once this one is. */
  accepted(sequence: number, signal: CancelSignal): Promise<number> {
    const { machine } = this.#parts;
    if (machine.acceptedInput >= sequence) return Promise.resolve(machine.acceptedInput);
    if (machine.ending !== undefined) return Promise.reject(endedRefusal(machine.ending.error));
    this.#awaited ??= new AwaitedInputs();
    return this.#awaited.add(sequence, signal);
  }

  /** Resolves when its ending is durable, or this router no longer has it. */
  whenEnded(): Promise<void> {
    if (this.#isOver || this.hasEnded) return Promise.resolve();
    this.#endWaiters ??= [];
    return new Promise((resolve) => this.#endWaiters?.push(resolve));
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
      this.leaveLink(event.link, memoryRefusal());
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
    const { machine, clock, observer } = this.#parts;
    if (!this.#isOver && this.#appends.runsOutOfShare()) {
      observer.streamPaused();
      machine.handle({ kind: 'journal', isScarce: true }, clock.wallNow());
    }
    for (let actions = machine.takeActions(); actions.length > 0; actions = machine.takeActions()) {
      for (const action of actions) this.#carryOut(action);
    }
    this.#appends.flush();
    this.#isPerforming = false;
    if (!this.#hasEnded && machine.ending !== undefined) {
      this.#hasEnded = true;
      this.#noteEnd(machine.ending);
    }
    this.#awaited?.settle(machine.acceptedInput, machine.ending);
    if (!this.#isOver) this.#memory.keep(this.#parts.openingBytes + machine.heldBytes);
    if (this.#finishing !== undefined && machine.isDelivered) this.leaveLink(this.#finishing, undefined);
    if (machine.lateInputs !== this.#lateInputs) {
      observer.inputsLate(machine.lateInputs - this.#lateInputs);
      this.#lateInputs = machine.lateInputs;
    }
  }

  onScarcity(isScarce: boolean): void {
    this.tell({ kind: 'memory', isScarce });
  }

  onOutput(step: StreamStepId, payload: Uint8Array, isLast: boolean): void {
    if (this.#isOver) return;
    this.#parts.machine.handle({ kind: 'step-output', step, payload, isLast }, this.#parts.clock.wallNow());
    this.#performSoon();
  }

  onDone(step: StreamStepId, state: Uint8Array | undefined): void {
    this.tell({ kind: 'step-done', step, state });
  }

  onFailed(step: StreamStepId, error: StreamError, hasWorkerDied: boolean, wasAlone: boolean): void {
    this.tell({ kind: 'step-failed', step, error, hasWorkerDied, wasAlone });
  }

  wake(): void {
    this.tell({ kind: 'tick' });
  }

  status(): StreamStatus {
    return hostedStreamStatus(this.#parts, this.isAttached);
  }

  #carryOut(action: StreamMachineAction<Uint8Array>): void {
    const { clock, alarms, log, observer, expiresAtMs } = this.#parts;
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
      case 'run':
        if (action.journaledOutputs > 0 || action.isAlone) observer.stepRepeated(action.journaledOutputs);
        this.#steps.run(action, clock.planeTimeOf(action.deadlineAt));
        return;
      case 'grant':
        this.#steps.grant(action.step, action.outputsMax);
        return;
      case 'cancel-step':
        this.#steps.cancel(action.step);
        return;
      case 'close-link':
        this.#closeLink(action.link, streamInferenceError(action.error));
        return;
      case 'idle': {
        const noted = this.#appends.noteIdle(action.idle);
        if (noted !== undefined) for (const client of this.#clients) client.holdBack(noted);
        return;
      }
      case 'wake-at':
        alarms.set(this, action.at);
        return;
      case 'parked':
        this.#over(undefined);
        void log.close({ entriesExpireAtMs: action.resumableUntil, expiresAtMs }).catch(() => {});
        return;
      case 'finished':
        this.#over(undefined);
        void log.close({ remove: true }).catch(() => {});
        return;
      case 'release':
        this.#over(streamInferenceError(action.error));
        void log.close().catch(() => {});
        return;
    }
  }

  #send(link: LinkId, frame: LinkFrame<Uint8Array>): void {
    const isEnd = frame.kind === 'ended';
    const client = isEnd ? this.#takeClient(link) : this.#client(link);
    if (client === undefined) return;
    if (frame.kind === 'opened') this.#noteOpened(frame.nextOutput);
    else if (this.#resumes.isMeasuring && (frame.kind === 'output' || isEnd)) {
      this.#resumes.delivered(this.#parts.clock.wallNow());
    }
    client.onFrame(frameForLink(frame, this.#parts));
    if (isEnd) client.onClosed(undefined);
  }

  #client(link: LinkId): HostedClient | undefined {
    for (const client of this.#clients) if (client.id === link) return client;
    return undefined;
  }

  #takeClient(link: LinkId): HostedClient | undefined {
    const client = this.#client(link);
    if (client !== undefined) this.#clients = this.#clients.filter((other) => other !== client);
    return client;
  }

  #closeLink(link: LinkId, error: InferenceError): void {
    const client = this.#takeClient(link);
    if (client === undefined) return;
    this.#noteLinkGone();
    client.onClosed(error);
  }

  /** The host ends the connection, not the machine. */
  leaveLink(link: LinkId, error: InferenceError | undefined): void {
    const client = this.#client(link);
    if (this.#finishing === link) this.#finishing = undefined;
    this.detach(link);
    client?.onClosed(error);
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
    const { machine, observer } = this.#parts;
    this.#giveRoom();
    this.#releaseEndWaiters();
    if (this.#wasEnded) return;
    observer.streamEnded(outcome, error?.code as ErrorCode | undefined, machine.isAbandoned);
  }

  /** Nothing will be run any more: it needs no model, and does not count as open. */
  #giveRoom(): void {
    if (!this.#hasRoom) return;
    this.#hasRoom = false;
    const { revision, caller, owner } = this.#parts;
    revision.release();
    owner.onEnded(caller);
  }

  #releaseEndWaiters(): void {
    for (const resolve of this.#endWaiters?.splice(0) ?? none) resolve();
  }

  #over(error: InferenceError | undefined): void {
    const { id, alarms, owner } = this.#parts;
    this.#isOver = true;
    alarms.remove(this);
    this.#appends.end();
    this.#memory.end();
    this.#steps.cancelAll();
    const left = error ?? new InferenceError('stream-expired', 'the stream has ended and can no longer be resumed');
    for (const client of this.#clients) this.#closeLink(client.id, left);
    this.#awaited?.rejectAll(left);
    this.#releaseEndWaiters();
    this.#giveRoom();
    owner.onOver(id, left.code === 'journal-unavailable');
  }
}
