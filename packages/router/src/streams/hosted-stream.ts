/**
 * One stream in this router: carries out what its machine decides, on its log, its steps and its links, and tells the machine
 * what came of it.
 */
import type {
  LinkFrame,
  LinkId,
  StreamEntry,
  StreamError,
  StreamMachine,
  StreamMachineAction,
  StreamMachineEvent,
} from '@millrace/core';
import { type EndedFrame, type ErrorCode, InferenceError, streamProtocolVersion } from '@millrace/protocol';
import { StoreError, type StreamLog } from '@millrace/store';
import { encodeEntry } from './entry-codec.ts';
import type { ModelSteps } from './model-steps.ts';
import type { OpeningRecord } from './opening-record.ts';
import type { StreamLinkFrame, StreamListenerOfLink, StreamStatus } from './stream-gateway.ts';
import type { StreamObserver } from './stream-observer.ts';

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
  readonly warnings: readonly string[];
  /** Nothing will be run any more: its model is no longer needed. */
  readonly onEnded: () => void;
  /** The machine does nothing more. */
  readonly onOver: () => void;
}

interface WaitingInput {
  readonly sequence: number;
  readonly resolve: (accepted: number) => void;
  readonly reject: (error: InferenceError) => void;
}

const frequentEvents: ReadonlySet<string> = new Set(['step-output', 'step-done', 'input', 'acknowledged', 'committed']);

export class HostedStream {
  readonly #parts: HostedStreamParts;
  readonly #links = new Map<LinkId, StreamListenerOfLink>();
  #waitingInputs: WaitingInput[] = [];
  #isPerforming: boolean = false;
  #isPerformScheduled: boolean = false;
  #isOver: boolean = false;
  #hasEnded: boolean = false;
  /** Entries of the turn that are not handed to the log yet, and the number of the first of them. */
  #unsent: StreamEntry<Uint8Array>[] = [];
  #unsentFrom = 0;
  /** Rises when the log refuses an append: what later appends of before say no longer counts. */
  #refusals = 0;
  /** Appends whose outcome is not known yet. */
  #inFlight = 0;
  #cancelAlarm: (() => void) | undefined;
  #outputs = 0;

  constructor(parts: HostedStreamParts) {
    this.#parts = parts;
    parts.log.whenFenced.then(() => this.tell({ kind: 'append-refused', reason: 'fenced', number: this.#unsentFrom }));
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
    event: Omit<StreamMachineEvent<Uint8Array> & { kind: 'attached' }, 'kind' | 'link'>,
  ): void {
    this.#links.set(link, listener);
    this.tell({ kind: 'attached', link, ...event });
  }

  detach(link: LinkId): void {
    if (this.#links.delete(link)) this.tell({ kind: 'detached', link });
  }

  /** Resolves with the highest durable input once this one is. */
  accepted(sequence: number): Promise<number> {
    const { machine } = this.#parts;
    if (machine.acceptedInput >= sequence) return Promise.resolve(machine.acceptedInput);
    if (machine.ending !== undefined) return Promise.reject(endedRefusal(machine.ending.error));
    return new Promise((resolve, reject) => this.#waitingInputs.push({ sequence, resolve, reject }));
  }

  tell(event: StreamMachineEvent<Uint8Array>): void {
    if (this.#isOver) return;
    const { machine, clock } = this.#parts;
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
    this.#flush();
    this.#isPerforming = false;
    if (!this.#hasEnded && machine.ending !== undefined) {
      this.#hasEnded = true;
      this.#parts.onEnded();
    }
    this.#settleInputs();
  }

  status(): StreamStatus {
    const { id, opening, expiresAtMs, log, machine } = this.#parts;
    const { ending } = machine;
    return {
      id,
      model: opening.model,
      version: opening.version,
      epoch: log.epoch,
      isAttached: this.isAttached,
      openedAtMs: opening.openedAtMs,
      expiresAtMs,
      acceptedInput: machine.acceptedInput,
      outputs: this.#outputs,
      journalBytes: machine.counts().logBytes,
      ended: ending && endedFrameFrom(ending),
    };
  }

  #carryOut(action: StreamMachineAction<Uint8Array>): void {
    const { steps, clock, log, observer } = this.#parts;
    switch (action.kind) {
      case 'append':
        if (this.#unsent.length === 0) this.#unsentFrom = action.number;
        this.#unsent.push(action.entry);
        if (action.entry.kind === 'output') this.#outputs = action.entry.sequence;
        return;
      case 'trim':
        this.#flush();
        log.trim(action.to, action.snapshot.map(encodeEntry));
        return;
      case 'send':
        this.#send(action.link, action.frame);
        return;
      case 'run': {
        const { step, input, state, outputsMax, deadlineAt } = action;
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
        observer.streamFinished();
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

  /** Hands the entries of the turn to the log, in one append. */
  #flush(): void {
    const isEnding = this.#unsent.at(-1)?.kind === 'ending';
    // A full log takes an ending after it has refused what stands before it: so it waits for that.
    const count = isEnding && this.#inFlight > 0 ? 0 : this.#unsent.length;
    if (count === 0) return;
    const entries = this.#unsent;
    const from = this.#unsentFrom;
    const refusals = this.#refusals;
    this.#unsent = [];
    this.#unsentFrom = from + count;
    this.#inFlight += 1;
    this.#parts.log.append(entries.map(encodeEntry), { isEnding }).then(
      (number) => {
        this.#inFlight -= 1;
        if (refusals === this.#refusals) this.tell({ kind: 'committed', number });
      },
      (error: unknown) => {
        this.#inFlight -= 1;
        if (refusals !== this.#refusals) return;
        this.#refusals += 1;
        this.#unsent = [];
        this.tell({ kind: 'append-refused', reason: refusalReason(error), number: from });
      },
    );
  }

  #send(link: LinkId, frame: LinkFrame<Uint8Array>): void {
    const listener = this.#links.get(link);
    if (listener === undefined) return;
    const isEnd = frame.kind === 'ended';
    if (isEnd) this.#links.delete(link);
    listener.onFrame(this.#linkFrame(frame));
    if (isEnd) listener.onClosed(undefined);
  }

  #linkFrame(frame: LinkFrame<Uint8Array>): StreamLinkFrame {
    switch (frame.kind) {
      case 'opened': {
        const { id, opening, log, warnings } = this.#parts;
        const { acceptedInput, nextOutput, inputCredit } = frame;
        const { model, version } = opening;
        const protocolVersion = streamProtocolVersion;
        return {
          kind: 'opened',
          streamId: id,
          epoch: log.epoch,
          model,
          version,
          protocolVersion,
          acceptedInput,
          nextOutput,
          inputCredit,
          warnings,
        };
      }
      case 'accepted':
        return { kind: 'accepted', input: frame.acceptedInput, inputCredit: frame.inputCredit };
      case 'output': {
        const { sequence, input, payload, isLast } = frame.output;
        return { kind: 'output', sequence, inputSequence: input, payload, endOfOutput: isLast };
      }
      case 'draining':
        return { kind: 'draining', message: 'this server is shutting down; connect again and resume the stream' };
      case 'ended':
        return endedFrameFrom(frame);
    }
  }

  #closeLink(link: LinkId, error: InferenceError): void {
    const listener = this.#links.get(link);
    this.#links.delete(link);
    listener?.onClosed(error);
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
    this.#parts.steps.cancelAll();
    const left = error ?? new InferenceError('stream-expired', 'the stream has ended and can no longer be resumed');
    for (const link of [...this.#links.keys()]) this.#closeLink(link, left);
    for (const { reject } of this.#waitingInputs) reject(left);
    this.#waitingInputs = [];
    this.#parts.onOver();
  }

  #settleInputs(): void {
    if (this.#waitingInputs.length === 0) return;
    const { machine } = this.#parts;
    const { acceptedInput, ending } = machine;
    const waiting: WaitingInput[] = [];
    for (const one of this.#waitingInputs) {
      if (one.sequence <= acceptedInput) one.resolve(acceptedInput);
      else if (ending === undefined) waiting.push(one);
      else one.reject(endedRefusal(ending.error));
    }
    this.#waitingInputs = waiting;
  }
}

function endedFrameFrom(ending: {
  readonly outcome: EndedFrame['outcome'];
  readonly error: StreamError | undefined;
  readonly outputs: number;
}): EndedFrame {
  const { outcome, error, outputs } = ending;
  if (error === undefined) return { kind: 'ended', outcome, message: '', outputs };
  return { kind: 'ended', outcome, code: error.code as ErrorCode, message: error.message, outputs };
}

function endedRefusal(error: StreamError | undefined): InferenceError {
  return error === undefined
    ? new InferenceError('input-after-end', 'the stream has ended; open a new one')
    : streamInferenceError(error);
}

export function streamInferenceError({ code, message }: StreamError): InferenceError {
  return new InferenceError(code as ErrorCode, message);
}

function refusalReason(error: unknown): 'full' | 'fenced' | 'unavailable' {
  if (!(error instanceof StoreError)) return 'unavailable';
  if (error.code === 'journal-full') return 'full';
  return error.code === 'journal-fenced' ? 'fenced' : 'unavailable';
}
