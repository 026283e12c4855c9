/**
 * Decides everything about one durable stream: its inputs are applied once, its outputs are numbered, journaled and then
 * sent, its work goes on after the death of a worker, a connection or a router, and it has one ending. Pure: entries of
 * the journal, frames and steps go out as actions. What is journaled is decided in stream-records.ts, what is sent to
 * clients in stream-delivery.ts, what runs in stream-steps.ts.
 */
import { WakeUp } from '../scheduler/wake-up.ts';
import { LogAccount } from './log-account.ts';
import { UnansweredInput } from './pending-inputs.ts';
import { ReorderWindow } from './reorder-window.ts';
import { type RestoredStream, restoredStreamFrom } from './restored-stream.ts';
import { StreamDelivery } from './stream-delivery.ts';
import type { EndingEntry, EndingOutcome, OpeningEntry, SizedPayload, StreamEntry } from './stream-entries.ts';
import { type StreamError, streamError } from './stream-errors.ts';
import { resolveStreamMachineConfig, type StreamMachineConfig } from './stream-machine-config.ts';
import type {
  ArrivedInput,
  FlowCredit,
  LinkId,
  StreamMachineAction,
  StreamMachineEvent,
} from './stream-machine-events.ts';
import { type AppliedInputs, StreamRecords } from './stream-records.ts';
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
  /** Inputs of this machine's life that came after the watermark. */
  readonly lateInputs: number;
}

export class StreamMachine<Payload extends SizedPayload> {
  readonly #config: StreamMachineConfig;
  readonly #opening: OpeningEntry<Payload>;
  readonly #records: StreamRecords<Payload>;
  readonly #window: ReorderWindow<Payload>;
  readonly #steps: StreamSteps<Payload>;
  readonly #delivery: StreamDelivery<Payload>;
  readonly #wakeUp = new WakeUp();
  #actions: StreamMachineAction<Payload>[] = [];
  /** Since when there is no client, or, if that was later, no more work. */
  #idleSince: number;
  #finishedInput: number;
  /** Infinity: not known yet. */
  #lastInput: number;
  #nowMs: number;
  #ending: EndingEntry | undefined;
  #endingNumber = Number.POSITIVE_INFINITY;
  #isLeaving: boolean = false;
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
    const act = (action: StreamMachineAction<Payload>): void => void this.#actions.push(action);
    const records = new StreamRecords(config, stream, log, act);
    this.#records = records;
    this.#window = new ReorderWindow(config, records.acceptance.accepted + 1, stream.lastInput, stream.eventTimeMax);
    this.#delivery = new StreamDelivery(config, records, act);
    this.#idleSince = nowMs;
    this.#finishedInput = stream.finishedInput;
    this.#lastInput = stream.lastInput;
    this.#nowMs = nowMs;
    const replayed = new Map(stream.replayed.map((output) => [output.sequence, output]));
    this.#steps = new StreamSteps(
      config,
      {
        act,
        give: (input, payload, isLast) => records.appendOutput(input, payload, isLast),
        takeJournaled: (sequence) => records.outputs.take(sequence) ?? replayed.get(sequence),
        isSame,
        noteFinished: (input) => {
          this.#finishedInput = input.entry.sequence;
          records.clock.noteFinished(this.#nowMs);
          for (let index = 0; index < input.outputs && replayed.size > 0; index++) {
            replayed.delete(input.firstOutput + index);
          }
        },
      },
      stream.state,
    );
    for (const input of stream.pending) this.#steps.pending.add(input);
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
  ): StreamMachine<Payload> {
    const resolved = resolveStreamMachineConfig(config);
    const stream = restoredStreamFrom(entries, resolved.model);
    const log = new LogAccount(resolved, entries, lastNumber);
    const machine = new StreamMachine(stream, log, resolved, isSame, nowMs);
    const hasBegun = stream.finishedInput > 0 || stream.pending.length > 0;
    if (!resolved.isResumable && hasBegun && stream.finishedInput < stream.lastInput) machine.#end('failed', lostError);
    machine.#proceed();
    return machine;
  }

  /** Records what happened; the resulting actions are in `takeActions`. */
  handle(event: StreamMachineEvent<Payload>, nowMs: number): void {
    this.#nowMs = nowMs;
    // First, so that what has expired is over whether or not a timer has fired.
    this.#expire();
    if (this.#over === undefined) {
      this.#note(event);
      this.#proceed();
    } else if (event.kind === 'attached') {
      this.#actions.push({ kind: 'close-link', link: event.link, error: this.#over });
    }
  }

  /** The actions since the last call, in order. */
  takeActions(): readonly StreamMachineAction<Payload>[] {
    const taken = this.#actions;
    this.#actions = [];
    return taken;
  }

  /** The highest input that is durable. */
  get acceptedInput(): number {
    return this.#records.acceptance.accepted;
  }

  /** The ending, once it is durable. */
  get ending(): EndingEntry | undefined {
    return this.#records.committed >= this.#endingNumber ? this.#ending : undefined;
  }

  counts(): StreamMachineCounts {
    const { pending, running } = this.#steps;
    const { outputs, entries, bytes } = this.#records;
    return {
      waitingInputs: this.#window.inputs,
      waitingBytes: this.#window.bytes,
      pendingInputs: pending.all.length,
      pendingBytes: pending.bytes,
      retainedOutputs: outputs.retainedCount,
      retainedBytes: outputs.retainedBytes,
      runningSteps: running,
      logEntries: entries,
      logBytes: bytes,
      lateInputs: this.#window.lateInputs,
    };
  }

  #note(event: StreamMachineEvent<Payload>): void {
    switch (event.kind) {
      case 'attached':
        if (this.#isLeaving) this.#actions.push({ kind: 'close-link', link: event.link, error: drainingError });
        else this.#delivery.attach(event);
        break;
      case 'detached':
        if (!this.#delivery.isCurrent(event.link)) break;
        this.#delivery.detach();
        this.#idleSince = this.#nowMs;
        break;
      case 'input':
        if (this.#isHeard(event.link)) this.#receive(event.input);
        break;
      case 'acknowledged':
        if (this.#isHeard(event.link)) this.#delivery.acknowledge(event);
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
      case 'draining':
        this.#leave();
        break;
      case 'tick':
        this.#wakeUp.woken();
        break;
    }
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
    const outcome = this.#window.put(input);
    if (outcome === 'known') this.#delivery.tellAccepted(this.#inputCredit());
    else if (outcome !== 'kept') this.#end('failed', outcome);
  }

  #inputCredit(): FlowCredit {
    return this.#records.acceptance.creditOf(this.#finishedInput, this.#steps.pending.bytes);
  }

  #failIf(error: StreamError | undefined): void {
    if (error !== undefined) this.#end('failed', error);
  }

  /** Does everything that can be done now. */
  #proceed(): void {
    if (this.#isWorking) this.#work();
    if (this.#isWorking && this.#finishedInput >= this.#lastInput) this.#end('done', undefined);
    if (this.#delivery.pump(this.#inputCredit(), this.ending)) this.#idleSince = this.#nowMs;
    if (this.#isLeaving && this.#records.isAllCommitted) this.#stop(drainingError);
    if (this.#over === undefined) this.#expire();
    if (this.#over === undefined) this.#askToWake();
  }

  #work(): void {
    this.#applyInputs();
    this.#failIf(this.#steps.settle());
    if (this.#ending !== undefined) return;
    this.#steps.begin(this.#delivery.room);
    this.#records.checkpointIfDue(this.#applied(), this.#nowMs);
  }

  #applyInputs(): void {
    const { pending } = this.#steps;
    const { pendingInputsMax, pendingBytesMax } = this.#config;
    for (let next = this.#window.peek(); next !== undefined; next = this.#window.peek()) {
      const { input, isDropped } = next;
      const bytes = input.payload?.byteLength ?? 0;
      // Those that are not durable yet count as well, also if their steps are done.
      const inputs = Math.max(pending.all.length, this.#records.acceptance.uncommitted);
      if (inputs >= pendingInputsMax || (pending.bytes > 0 && pending.bytes + bytes > pendingBytesMax)) return;
      this.#window.take();
      const { sequence, payload, isLast, eventTime } = input;
      const entry = { kind: 'input', sequence, payload, isLast, eventTime, isDropped } as const;
      this.#records.appendInput(entry);
      pending.add(new UnansweredInput(entry, input.deadlineAt));
      if (isLast) this.#lastInput = sequence;
    }
  }

  #applied(): AppliedInputs<Payload> {
    const { pending, state } = this.#steps;
    const finishedInput = this.#finishedInput;
    const isEndOfInput = finishedInput >= this.#lastInput;
    return { finishedInput, isEndOfInput, state, pending, eventTimeMax: this.#window.eventTimeMax };
  }

  #commit(number: number): void {
    const hadEnded = this.ending !== undefined;
    this.#records.commit(number);
    if (!hadEnded && this.ending !== undefined) this.#idleSince = this.#nowMs;
  }

  #refused(reason: 'full' | 'fenced' | 'unavailable', number: number): void {
    // Refusals of entries that were taken back follow the first one.
    if (number !== this.#records.committed + 1 && reason === 'full') return;
    if (reason !== 'full' || this.#isLeaving || this.#ending?.error === fullError) {
      this.#stop(reason === 'full' ? fullError : reason === 'fenced' ? fencedError : unavailableError);
      return;
    }
    this.#records.rollBack();
    this.#ending = undefined;
    this.#end('failed', fullError);
  }

  #end(outcome: EndingOutcome, error: StreamError | undefined): void {
    if (!this.#isWorking) return;
    this.#steps.cancelAll();
    this.#window.clear();
    this.#ending = { kind: 'ending', outcome, error, outputs: this.#records.outputs.last };
    this.#endingNumber = this.#records.append(this.#ending);
  }

  /** Leaves as soon as what was decided is durable, without waiting for steps or clients. */
  #leave(): void {
    if (this.#isLeaving) return;
    this.#delivery.tellDraining();
    if (this.#isWorking && this.#records.clock.hasProgress) this.#records.checkpoint(this.#applied());
    this.#steps.cancelAll();
    this.#window.clear();
    this.#isLeaving = true;
  }

  /** Gives up the log as it is. */
  #stop(error: StreamError): void {
    this.#over = error;
    this.#steps.cancelAll();
    this.#window.clear();
    this.#delivery.close(error);
    this.#actions.push({ kind: 'release', error });
  }

  #expire(): void {
    if (this.#over !== undefined) return;
    if (this.#isWorking) {
      if (this.#nowMs >= this.#opening.expiresAt) this.#end('expired', expiredError);
      else if (this.#nowMs >= this.#resumableUntil) this.#end('cancelled', this.#notResumedError());
      else if (this.#nowMs >= this.#steps.pending.deadlineAt) this.#end('failed', deadlineError);
    } else if (this.ending !== undefined && this.#nowMs >= Math.min(this.#opening.expiresAt, this.#resumableUntil)) {
      this.#over = streamError('stream-not-found', 'the stream has ended and is no longer kept; open a new one');
      this.#delivery.close(expiredError);
      this.#actions.push({ kind: 'finished', expiresAt: this.#opening.expiresAt });
    }
  }

  /** Infinity while there is a client. */
  get #resumableUntil(): number {
    return this.#delivery.isAttached ? Number.POSITIVE_INFINITY : this.#idleSince + this.#config.resumeWindowMs;
  }

  #notResumedError(): StreamError {
    return streamError('cancelled', `no client resumed the stream within ${this.#config.resumeWindowMs} ms`);
  }

  #askToWake(): void {
    const isOpen = this.#ending === undefined || this.ending !== undefined;
    // Until the ending is durable nothing else can become due.
    let dueAt = isOpen ? Math.min(this.#opening.expiresAt, this.#resumableUntil) : Number.POSITIVE_INFINITY;
    if (this.#isWorking) dueAt = Math.min(dueAt, this.#checkpointAt, this.#steps.pending.deadlineAt);
    const wakeAt = this.#wakeUp.takeTime(dueAt, this.#nowMs);
    if (wakeAt !== undefined) this.#actions.push({ kind: 'wake-at', at: wakeAt });
  }

  get #checkpointAt(): number {
    return this.#steps.pending.isReplaying ? Number.POSITIVE_INFINITY : this.#records.clock.dueAt;
  }
}

const drainingError = streamError('draining', 'this server is shutting down; connect again and resume the stream');
const fencedError = streamError('draining', 'another server has taken over the stream; connect again and resume it');
const unavailableError = streamError('journal-unavailable', 'the journal is not available; resume the stream later');
const fullError = streamError('journal-full', 'the journal of the stream is full; acknowledge outputs sooner');
const expiredError = streamError('stream-expired', 'the time to live of the stream is over; open a new one');
const deadlineError = streamError('deadline-exceeded', 'the deadline of an input passed before it was answered');
const lostError = streamError('worker-lost', 'the state of the model was lost with its worker; open a new stream');
