/**
 * Decides everything about one durable stream: its inputs are applied once, its outputs are numbered, journaled and then
 * sent, its work goes on after the death of a worker, a connection or a router, and it has one ending. Pure: entries of
 * the journal, frames and steps go out as actions. What is journaled is decided in stream-records.ts, what is sent to
 * clients in stream-delivery.ts, what runs in stream-steps.ts.
 */
import { WakeUp } from '../scheduler/wake-up.ts';
import { LogAccount } from './log-account.ts';
import { MachineActions } from './machine-actions.ts';
import { type RestoredStream, restoredStreamFrom } from './restored-stream.ts';
import { StreamDelivery } from './stream-delivery.ts';
import {
  type EndingEntry,
  type EndingOutcome,
  type OpeningEntry,
  type SizedPayload,
  type StreamEntry,
  streamEntryOverheadBytes,
} from './stream-entries.ts';
import { noShareError, notResumedError, type StreamError, streamError, streamErrors } from './stream-errors.ts';
import { StreamInputs } from './stream-inputs.ts';
import { resolveStreamMachineConfig, type StreamMachineConfig } from './stream-machine-config.ts';
import type {
  ArrivedInput,
  IdleSince,
  LinkId,
  StreamMachineAction,
  StreamMachineEvent,
} from './stream-machine-events.ts';
import { StreamRecords } from './stream-records.ts';
import { StreamSteps } from './stream-steps.ts';

export interface StreamMachineOptions<Payload> {
  readonly config: Partial<StreamMachineConfig>;
  /** Whether an output that an input gives when it is run again is the one that is journaled. */
  readonly isSame: (journaled: Payload, again: Payload) => boolean;
}

/** What a stream holds; each of them has a limit in the configuration. */
export interface StreamMachineCounts {
  readonly waitingInputs: number;
  readonly waitingBytes: number;
  readonly pendingInputs: number;
  readonly pendingBytes: number;
  readonly retainedOutputs: number;
  readonly retainedBytes: number;
  readonly runningSteps: number;
  readonly logEntries: number;
  readonly logBytes: number;
}

/** How long a stream that has ended stays in memory without a client: one that lost its connection comes back soon. */
const endedStayMs = 1000;

export class StreamMachine<Payload extends SizedPayload> {
  readonly #config: StreamMachineConfig;
  readonly #opening: OpeningEntry<Payload>;
  readonly #records: StreamRecords<Payload>;
  readonly #inputs: StreamInputs<Payload>;
  readonly #steps: StreamSteps<Payload>;
  readonly #delivery: StreamDelivery<Payload>;
  readonly #wakeUp = new WakeUp();
  readonly #actions = new MachineActions<Payload>();
  /** Since when it has work that the journal has no room for; Infinity: it does not wait for that. */
  #heldBackSince = Number.POSITIVE_INFINITY;
  /** Events were recorded whose consequences are not decided yet. */
  #isBehind: boolean = false;
  /** Since when there is no client, or, if that was later, no more work. */
  #idleSince: number;
  /** The journal says that there is no client. */
  #isIdleNoted: boolean = false;
  #ending: EndingEntry | undefined;
  #endingNumber = Number.POSITIVE_INFINITY;
  #isLeaving: boolean = false;
  /** Its log was refused an entry: it takes the ending, and nothing else. */
  #isFull: boolean = false;
  #isAbandoned: boolean = false;
  /** Why this machine does nothing more. */
  #over: StreamError | undefined;

  private constructor(
    stream: RestoredStream<Payload>,
    log: LogAccount<Payload>,
    config: StreamMachineConfig,
    isSame: StreamMachineOptions<Payload>['isSame'],
    nowMs: number,
  ) {
    this.#config = config;
    this.#opening = stream.opening;
    this.#idleSince = nowMs;
    const records = new StreamRecords(config, stream, log, this.#actions, nowMs);
    this.#records = records;
    this.#delivery = new StreamDelivery(config, records, this.#actions);
    this.#steps = new StreamSteps({ config, records, client: this.#delivery, actions: this.#actions, isSame }, stream);
    this.#inputs = new StreamInputs(config, stream, records, this.#steps.pending);
    if (stream.ending === undefined) return;
    this.#ending = stream.ending;
    this.#endingNumber = log.last;
    this.#steps.pending.clear();
  }

  /** A new stream: its first action appends the opening. */
  static open<Payload extends SizedPayload>(
    opening: OpeningEntry<Payload>,
    { config, isSame }: StreamMachineOptions<Payload>,
    nowMs: number,
  ): StreamMachine<Payload> {
    const resolved = resolveStreamMachineConfig(config);
    const stream = restoredStreamFrom([opening], resolved.model);
    const machine = new StreamMachine(stream, new LogAccount<Payload>(resolved, [], 0), resolved, isSame, nowMs);
    machine.#records.append(opening);
    machine.#askToWake();
    return machine;
  }

  /** A stream whose log was taken over: the snapshot of its last trim and the entries after it, and the number of the last. */
  static restore<Payload extends SizedPayload>(
    entries: readonly StreamEntry<Payload>[],
    lastNumber: number,
    { config, isSame }: StreamMachineOptions<Payload>,
    nowMs: number,
    idle?: IdleSince,
  ): StreamMachine<Payload> {
    const resolved = resolveStreamMachineConfig(config);
    const stream = restoredStreamFrom(entries, resolved.model);
    const log = new LogAccount(resolved, entries, lastNumber);
    const machine = new StreamMachine(stream, log, resolved, isSame, nowMs);
    if (stream.ending === undefined) machine.#goOnIdle(idle);
    const hasBegun = stream.finishedInput > 0 || stream.pending.length > 0;
    if (!resolved.isResumable && hasBegun && stream.finishedInput < stream.lastInput)
      machine.#end('failed', streamErrors.lost);
    machine.#proceed();
    return machine;
  }

  /** The resume window goes on. A stream that had a client until its process died is idle from now on. */
  #goOnIdle(idle: IdleSince | undefined): void {
    const { resumeWindowMs, resumeGraceMs } = this.#config;
    const graceMs = Math.min(resumeGraceMs, resumeWindowMs);
    const isSoonOver = idle !== undefined && idle.sinceMs + resumeWindowMs < this.#nowMs + graceMs;
    if (idle === undefined) this.#noteIdle({ sinceMs: this.#nowMs, isExtended: false });
    else if (isSoonOver && !idle.isExtended) {
      this.#noteIdle({ sinceMs: this.#nowMs + graceMs - resumeWindowMs, isExtended: true });
    } else {
      this.#isIdleNoted = true;
      // The time of day may have been set back.
      this.#idleSince = Math.min(idle.sinceMs, this.#nowMs);
    }
  }

  /** The journal says whether there is a client, also where the one that opened the stream was refused or left before it was attached. */
  #noteClient(): void {
    const { isAttached } = this.#delivery;
    if (isAttached !== this.#isIdleNoted) return;
    if (isAttached) {
      this.#isIdleNoted = false;
      this.#actions.push({ kind: 'idle', idle: undefined });
    } else if (this.#isWorking) this.#noteIdle({ sinceMs: this.#idleSince, isExtended: false });
  }

  #noteIdle(idle: IdleSince): void {
    this.#isIdleNoted = true;
    this.#idleSince = idle.sinceMs;
    this.#actions.push({ kind: 'idle', idle });
  }

  /** Records what happened; what follows from it is decided in `takeActions`, once for all events before it. */
  handle(event: StreamMachineEvent<Payload>, nowMs: number): void {
    this.#records.clock.nowMs = nowMs;
    // First, so that what has expired is over whether or not a timer has fired.
    this.#expire();
    if (this.#over === undefined) {
      this.#note(event);
      this.#isBehind = true;
    } else if (event.kind === 'attached') {
      this.#actions.push({ kind: 'close-link', link: event.link, error: this.#over });
    }
  }

  /** The actions since the last call, in order. */
  takeActions(): readonly StreamMachineAction<Payload>[] {
    if (this.#isBehind) {
      this.#isBehind = false;
      if (this.#over === undefined) this.#proceed();
    }
    return this.#actions.take();
  }

  /** The highest input that is durable. */
  get acceptedInput(): number {
    return this.#records.acceptance.accepted;
  }

  /** Outputs numbered so far. */
  get outputs(): number {
    return this.#records.outputs.last;
  }

  /** Whether an input waits for outputs; one that only runs again for its state does not. */
  get hasUnanswered(): boolean {
    return this.#steps.pending.all.some(({ isAnswered }) => !isAnswered);
  }

  /** Whether every input that can be applied is answered, and the current client has been sent every output. */
  get isDelivered(): boolean {
    const hasNext = this.#inputs.window.peek() !== undefined;
    return this.#ending === undefined && !hasNext && !this.hasUnanswered && this.#delivery.hasSentAll;
  }

  /** Inputs of this machine's life that came after the watermark. */
  get lateInputs(): number {
    return this.#inputs.window.lateInputs;
  }

  /** Whether it has expired because no client resumed it in time. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** The ending, once it is durable. */
  get ending(): EndingEntry | undefined {
    return this.#records.committed >= this.#endingNumber ? this.#ending : undefined;
  }

  /** Memory that the stream takes for what it keeps: inputs, outputs and the state of its model. */
  get heldBytes(): number {
    const { pending, state } = this.#steps;
    const { outputs } = this.#records;
    const { window } = this.#inputs;
    const entries = window.inputs + pending.all.length + outputs.retainedCount;
    const payloads = window.bytes + pending.bytes + outputs.retainedBytes + (state?.byteLength ?? 0);
    // Otherwise they wait for a moment only.
    const held = this.#records.isScarce ? this.#steps.heldBytes : 0;
    return payloads + held + entries * streamEntryOverheadBytes;
  }

  counts(): StreamMachineCounts {
    const { pending, running } = this.#steps;
    const { outputs, entries, bytes } = this.#records;
    return {
      waitingInputs: this.#inputs.window.inputs,
      waitingBytes: this.#inputs.window.bytes,
      pendingInputs: pending.all.length,
      pendingBytes: pending.bytes,
      retainedOutputs: outputs.retainedCount,
      retainedBytes: outputs.retainedBytes,
      runningSteps: running,
      logEntries: entries,
      logBytes: bytes,
    };
  }

  #note(event: StreamMachineEvent<Payload>): void {
    switch (event.kind) {
      case 'attached':
        if (this.#isLeaving) this.#actions.push({ kind: 'close-link', link: event.link, error: streamErrors.draining });
        else this.#delivery.attach(event);
        this.#noteClient();
        break;
      case 'detached':
        if (this.#delivery.isCurrent(event.link)) {
          this.#delivery.detach();
          this.#idleSince = this.#nowMs;
        }
        this.#noteClient();
        break;
      case 'input':
        if (this.#isHeard(event.link)) this.#receive(event.input);
        break;
      case 'acknowledged':
        if (this.#isHeard(event.link)) this.#delivery.acknowledge(event);
        break;
      case 'taken':
        if (this.#isHeard(event.link)) this.#delivery.taken(event);
        break;
      case 'cancelled':
        if (this.#isHeard(event.link)) this.#end('cancelled', streamError('cancelled', event.message));
        break;
      case 'committed':
        this.#commit(event.number);
        break;
      case 'append-refused':
        this.#refused(event.reason, event.number);
        break;
      case 'step-output':
        this.#failIf(this.#steps.takeOutput(event));
        break;
      case 'step-done':
        this.#failIf(this.#steps.finish(event.step, event.state));
        break;
      case 'step-failed':
        this.#failIf(this.#steps.fail(event));
        break;
      case 'model-lost':
        this.#end('failed', event.error);
        break;
      case 'memory':
        this.#inputs.isScarce = event.isScarce;
        this.#delivery.isScarce = event.isScarce;
        break;
      case 'journal':
        this.#records.isScarce = event.isScarce;
        break;
      case 'draining':
        this.#leave();
        break;
      case 'tick':
        this.#wakeUp.woken();
        // Only here: between two ticks a caller may rely on a stream that it has found.
        if (this.#nowMs >= this.#parkAt) this.#park();
        break;
    }
  }

  get #nowMs(): number {
    return this.#records.clock.nowMs;
  }

  /** A link that was superseded or closed is not heard any more. */
  #isHeard(link: LinkId | undefined): boolean {
    return link === undefined || this.#delivery.isCurrent(link);
  }

  get #isWorking(): boolean {
    return this.#over === undefined && this.#ending === undefined && !this.#isLeaving;
  }

  #receive(input: ArrivedInput<Payload>): void {
    if (!this.#isWorking) return;
    const outcome = this.#inputs.window.put(input);
    // At once: the window would be too small for all inputs that come in one turn.
    if (outcome === 'kept') this.#inputs.apply();
    else if (outcome === 'known') this.#delivery.tellAccepted(this.#inputs.credit);
    else this.#end('failed', outcome);
  }

  #failIf(error: StreamError | undefined): void {
    if (error !== undefined) this.#end('failed', error);
  }

  /** Does everything that can be done now. */
  #proceed(): void {
    if (this.#isWorking) this.#work();
    if (this.#isWorking && this.#inputs.isAllFinished) this.#end('done', undefined);
    if (this.#delivery.pump(this.#inputs.credit, this.ending)) this.#idleSince = this.#nowMs;
    if (this.#isLeaving && this.#records.isAllCommitted) this.#stop(streamErrors.draining);
    if (!this.#isHeldBack) this.#heldBackSince = Number.POSITIVE_INFINITY;
    else if (this.#heldBackSince === Number.POSITIVE_INFINITY) this.#heldBackSince = this.#nowMs;
    if (this.#over === undefined) this.#expire();
    if (this.#over === undefined) this.#askToWake();
  }

  get #isHeldBack(): boolean {
    if (!this.#records.isScarce || !this.#isWorking) return false;
    return this.#inputs.window.peek() !== undefined || this.hasUnanswered;
  }

  #work(): void {
    this.#inputs.apply();
    this.#failIf(this.#steps.settle());
    if (this.#ending !== undefined) return;
    this.#steps.begin();
    this.#records.checkpointIfDue(this.#inputs.appliedWith(this.#steps.state));
  }

  #commit(number: number): void {
    const hadEnded = this.ending !== undefined;
    this.#records.commit(number);
    if (!hadEnded && this.ending !== undefined) this.#idleSince = this.#nowMs;
  }

  #refused(reason: 'full' | 'fenced' | 'unavailable', number: number): void {
    // Refusals of entries that were taken back follow the first one.
    if (number !== this.#records.committed + 1 && reason === 'full') return;
    if (reason !== 'full' || this.#isLeaving || this.#isFull) {
      // The journal of a router that leaves may be closed, or have another owner.
      if (this.#isLeaving) this.#stop(streamErrors.draining);
      else if (reason === 'full') this.#stop(streamErrors.full);
      else this.#stop(reason === 'fenced' ? streamErrors.fenced : streamErrors.unavailable);
      return;
    }
    // Of a stream that was done, outputs are lost now; other endings stay what they are.
    const before = this.#ending?.outcome === 'done' ? undefined : this.#ending;
    this.#records.rollBack();
    this.#ending = undefined;
    this.#isFull = true;
    if (before === undefined) this.#end('failed', streamErrors.full);
    else this.#end(before.outcome, before.error);
  }

  #end(outcome: EndingOutcome, error: StreamError | undefined): void {
    if (!this.#isWorking) return;
    this.#steps.cancelAll();
    this.#inputs.window.clear();
    this.#ending = { kind: 'ending', outcome, error, outputs: this.#records.outputs.last, endedAt: this.#nowMs };
    this.#endingNumber = this.#records.append(this.#ending);
  }

  /** Leaves as soon as what was decided is durable, without waiting for steps or clients. */
  #leave(): void {
    if (this.#isLeaving) return;
    this.#delivery.tellDraining();
    if (this.#isWorking && this.#records.clock.hasProgress)
      this.#records.checkpoint(this.#inputs.appliedWith(this.#steps.state));
    this.#steps.cancelAll();
    this.#inputs.window.clear();
    this.#isLeaving = true;
  }

  /** Gives up the log as it is. */
  #stop(error: StreamError): void {
    this.#over = error;
    this.#steps.cancelAll();
    this.#inputs.window.clear();
    this.#delivery.close(error);
    this.#actions.push({ kind: 'release', error });
  }

  #expire(): void {
    if (this.#over !== undefined) return;
    if (this.#isWorking) {
      if (this.#nowMs >= this.#opening.expiresAt) this.#end('expired', streamErrors.expired);
      else if (this.#nowMs >= this.resumableUntil) {
        this.#isAbandoned = true;
        this.#end('expired', notResumedError(this.#config.resumeWindowMs));
      } else if (this.#nowMs >= this.#steps.pending.deadlineAt) this.#end('failed', streamErrors.deadline);
      else if (this.#nowMs >= this.#waitsUntil) this.#end('failed', noShareError(this.#config.journalWaitMsMax));
    } else if (this.ending !== undefined && this.#nowMs >= this.#opening.expiresAt) {
      this.#over = streamErrors.removed;
      this.#delivery.close(streamErrors.expired);
      this.#actions.push({ kind: 'finished' });
    }
  }

  /** Leaves an ended stream to the journal. */
  #park(): void {
    this.#over = streamErrors.removed;
    this.#actions.push({ kind: 'parked', resumableUntil: this.resumableUntil });
  }

  /** When the stream is left to the journal; Infinity while it has not ended, or has a client. */
  get #parkAt(): number {
    const isIdle = this.ending !== undefined && !this.#isLeaving && !this.#delivery.isAttached;
    return isIdle ? this.#idleSince + endedStayMs : Number.POSITIVE_INFINITY;
  }

  /** Infinity while there is a client. */
  get resumableUntil(): number {
    return this.#delivery.isAttached ? Number.POSITIVE_INFINITY : this.#idleSince + this.#config.resumeWindowMs;
  }

  get #waitsUntil(): number {
    return this.#heldBackSince + this.#config.journalWaitMsMax;
  }

  #askToWake(): void {
    // Until the ending is durable nothing else can become due, and a router that leaves waits for the journal only.
    const isOpen = !this.#isLeaving && (this.#ending === undefined || this.ending !== undefined);
    let dueAt = isOpen ? Math.min(this.#opening.expiresAt, this.#parkAt) : Number.POSITIVE_INFINITY;
    if (this.#isWorking) {
      dueAt = Math.min(
        dueAt,
        this.resumableUntil,
        this.#checkpointAt,
        this.#steps.pending.deadlineAt,
        this.#waitsUntil,
      );
    }
    const wakeAt = this.#wakeUp.takeTime(dueAt, this.#nowMs);
    if (wakeAt !== undefined) this.#actions.push({ kind: 'wake-at', at: wakeAt });
  }

  get #checkpointAt(): number {
    return this.#steps.pending.isReplaying || this.#records.isScarce
      ? Number.POSITIVE_INFINITY
      : this.#records.clock.dueAt;
  }
}
