/**
 * One durable stream as its client sees it: what to send, what to hand to the program, when to connect again. Pure: frames,
 * events of the connection, calls of the program and the time come in as method calls; what to do comes out as commands, in
 * their order. docs/reference/stream-clients.md of the server states the rules.
 *
 * Four positions of outputs, each at most the one before: *received*, *delivered* to the program, *handled* (the program has
 * asked for the next one), *acknowledged*. A resume begins after the last one handled, since the server forgets what stands
 * before it; what is sent again is dropped by its number.
 */
import {
  type AcceptedFrame,
  type InputFrame,
  type JsonObject,
  type OpenFrame,
  type OutputFrame,
  type StreamClientFrame,
  type StreamCredit,
  type StreamOutcome,
  type StreamServerFrame,
  streamPayloadBytes,
  streamProtocolVersion,
} from '@millrace/protocol';
import { MillraceError, unreachable, unreadableAnswer } from '../errors/millrace-error.ts';
import { KeptInputs, type SessionInput } from './kept-inputs.ts';

export interface SessionConfig {
  readonly streamId: string;
  /** Random, for each stream object: tells its connections from those of other clients. */
  readonly clientId: string;
  readonly context: string;
  readonly parameters: JsonObject;
  /** Undefined: a new stream. Otherwise the last output that was handled before. */
  readonly resumeAfter: number | undefined;
  /** How far the server may go beyond the last output handled. */
  readonly credit: StreamCredit;
  /** How long a connection that owes something may be silent before it is asked. */
  readonly silenceMsMax: number;
  /** How long it may take to answer that. */
  readonly answerMsMax: number;
  /** How long it may take to open the stream; a router that starts again lets its clients wait. */
  readonly openMsMax: number;
  /** How long the stream is tried to be resumed. */
  readonly resumeMsMax: number;
  readonly backoffMsInitial: number;
  readonly backoffMsMax: number;
  /** The moment after which nobody waits for it. */
  readonly deadlineMs: number;
}

export type SessionCommand =
  | { readonly kind: 'connect'; readonly open: OpenFrame }
  | { readonly kind: 'send'; readonly frame: StreamClientFrame }
  /** Ask for a sign of life: by the transport's own means, otherwise with this frame. */
  | { readonly kind: 'ping'; readonly frame: InputFrame }
  | { readonly kind: 'close-link' }
  /** Something changed for the program: an output, room for inputs, the end. */
  | { readonly kind: 'wake' }
  | { readonly kind: 'gap'; readonly error: MillraceError; readonly afterOutput: number }
  | { readonly kind: 'resumed'; readonly gapMs: number; readonly epoch: number }
  /** The server leaves: others are to be preferred. */
  | { readonly kind: 'draining' };

/** How the stream ended for the program. */
export type SessionEnding =
  | { readonly kind: 'ended'; readonly outcome: StreamOutcome; readonly error: MillraceError | undefined }
  /** The program left it; it can be resumed. */
  | { readonly kind: 'detached' };

type Phase = 'waiting' | 'connecting' | 'open' | 'over';

/** How long a cancelled stream is tried to be reached, so that its server learns of it. */
const cancelMsMax = 5000;

export class ClientStreamSession {
  readonly #config: SessionConfig;
  readonly #inputs: KeptInputs;
  #commands: SessionCommand[] = [];
  #phase: Phase = 'waiting';
  #ending: SessionEnding | undefined = undefined;
  #queue: OutputFrame[] = [];
  #received: number;
  #delivered: number;
  #handled: number;
  #acknowledged: number;
  /** What the present connection was opened with. */
  #resumedAfter: number;
  /** The last input whose answer is complete. */
  #answered = 0;
  #epoch = 0;
  #isOpenedOnce: boolean = false;
  /** Failed connections since the last `opened`. */
  #failures = 0;
  /** Connections so far. */
  #attempts = 0;
  #connectAtMs = 0;
  #connectUntilMs = 0;
  /** Since when there is no connection that has opened the stream. */
  #awaySinceMs = 0;
  #heardAtMs = 0;
  /** When a silent connection was asked; 0: it was not. */
  #askedAtMs = 0;
  #cancelReason: string | undefined = undefined;
  #cancelUntilMs = Number.POSITIVE_INFINITY;

  constructor(config: SessionConfig, nowMs: number) {
    this.#config = config;
    this.#inputs = new KeptInputs(config.resumeAfter === undefined ? 0 : undefined);
    this.#received = config.resumeAfter ?? 0;
    this.#delivered = this.#received;
    this.#handled = this.#received;
    this.#acknowledged = this.#received;
    this.#resumedAfter = this.#received;
    this.#awaySinceMs = nowMs;
    this.#connect(nowMs);
  }

  /** What to do now, in this order. */
  takeCommands(): readonly SessionCommand[] {
    const commands = this.#commands;
    this.#commands = [];
    return commands;
  }

  get ending(): SessionEnding | undefined {
    return this.#ending;
  }

  /** Nothing more happens, on the connection either. */
  get isOver(): boolean {
    return this.#phase === 'over';
  }

  get handledOutput(): number {
    return this.#handled;
  }

  get acceptedInput(): number {
    return this.#inputs.accepted;
  }

  get isOpened(): boolean {
    return this.#isOpenedOnce;
  }

  /** Whether the program may give another input now; until then it waits. */
  get hasRoom(): boolean {
    return this.#inputs.hasRoom;
  }

  /** When `onTime` is to be called next; Infinity: not at all. */
  get nextTimeMs(): number {
    if (this.#phase === 'over') return Number.POSITIVE_INFINITY;
    return Math.min(this.#phaseTimeMs(), this.#ending === undefined ? this.#config.deadlineMs : this.#cancelUntilMs);
  }

  #phaseTimeMs(): number {
    if (this.#phase === 'waiting') return this.#connectAtMs;
    if (this.#phase === 'connecting') return this.#connectUntilMs;
    if (this.#askedAtMs > 0) return this.#askedAtMs + this.#config.answerMsMax;
    return this.#isOwed() ? this.#heardAtMs + this.#config.silenceMsMax : Number.POSITIVE_INFINITY;
  }

  /** Throws where the inputs have ended, or the stream has. */
  addInput(input: SessionInput, nowMs: number): void {
    if (this.#ending !== undefined) throw new TypeError('the stream has ended; it takes no further input');
    const wasOwed = this.#isOwed();
    this.#inputs.add(input);
    if (this.#phase === 'open') this.#sendInputs();
    // Silence counts from the moment from which there is something to wait for.
    if (!wasOwed) this.#heardAtMs = nowMs;
  }

  /** The next output for the program; asking for it says that the one before was handled. */
  takeOutput(nowMs: number): OutputFrame | undefined {
    this.handleDelivered(nowMs);
    const output = this.#queue.shift();
    if (output !== undefined) this.#delivered = output.sequence;
    return output;
  }

  /** The program is done with the output that it has. */
  handleDelivered(nowMs: number): void {
    this.#handled = this.#delivered;
    // A full window was a reason for silence, which ends here.
    if (this.#phase === 'open' && !this.#isOwed()) this.#heardAtMs = nowMs;
    this.#acknowledge();
  }

  #acknowledge(): void {
    if (this.#phase !== 'open' || this.#handled === this.#acknowledged) return;
    const isDue = this.#handled - this.#acknowledged >= this.#config.credit.messages / 4;
    if (this.#queue.length > 0 && !isDue) return;
    this.#acknowledged = this.#handled;
    const outputCredit = this.#config.credit;
    this.#do({ kind: 'send', frame: { kind: 'acknowledge', output: this.#handled, outputCredit } });
  }

  /** The work is to stop. For the program the stream is over at once; the server is told as soon as it can be. */
  cancel(reason: string, error: MillraceError, nowMs: number): void {
    if (this.#ending !== undefined) return;
    this.#queue = [];
    this.#end({ kind: 'ended', outcome: 'cancelled', error });
    this.#cancelReason = reason;
    this.#cancelUntilMs = nowMs + cancelMsMax;
    if (this.#phase === 'open') this.#do({ kind: 'send', frame: { kind: 'cancel', reason } });
    // Nothing was ever sent: no server knows of it.
    else if (!this.#isOpenedOnce && this.#phase === 'waiting') this.#phase = 'over';
  }

  /** Leaves the stream as it is, to be resumed. With an error the program is told that the outputs are not complete. */
  detach(error?: MillraceError): void {
    if (this.#phase === 'over') return;
    this.#closeLink();
    this.#phase = 'over';
    this.#end(error === undefined ? { kind: 'detached' } : { kind: 'ended', outcome: 'failed', error });
  }

  onActivity(nowMs: number): void {
    this.#heardAtMs = nowMs;
    this.#askedAtMs = 0;
  }

  onFrame(frame: StreamServerFrame, nowMs: number, random: number): void {
    if (this.#phase === 'over') return;
    this.onActivity(nowMs);
    if (frame.kind === 'ended') this.#onEnded(frame.outcome, frame.code, frame.message);
    else if (frame.kind === 'draining') this.#do({ kind: 'draining' });
    else if (frame.kind === 'opened') this.#onOpened(frame, nowMs, random);
    else if (this.#phase !== 'open') this.#lose(unreadableAnswer(`${frame.kind} came before opened`), nowMs, random);
    else if (frame.kind === 'accepted') this.onAccepted(frame);
    else this.#onOutput(frame, nowMs, random);
  }

  /** The server has inputs durably. It may have said so beside the connection, so this is no sign of life of that. */
  onAccepted({ input, inputCredit }: AcceptedFrame): void {
    if (this.#phase !== 'open') return;
    this.#inputs.onAccepted(input, inputCredit);
    this.#sendInputs();
    this.#do({ kind: 'wake' });
  }

  /** The connection is over, and the stream perhaps not. */
  onLinkClosed(error: MillraceError, nowMs: number, random: number): void {
    if (this.#phase !== 'connecting' && this.#phase !== 'open') return;
    if (this.#phase === 'open') {
      this.#awaySinceMs = nowMs;
      this.#do({ kind: 'gap', error, afterOutput: this.#handled });
    }
    this.#askedAtMs = 0;
    this.#failures += 1;
    if (error.code === 'draining') this.#do({ kind: 'draining' });
    // A cancelled stream of an unknown id is what was wanted.
    if (error.retry === 'never') {
      this.#fail(error);
      return;
    }
    const delayMs = error.retryAfterMs ?? this.#backoffMs(random);
    const untilMs = Math.min(this.#awaySinceMs + this.#config.resumeMsMax, this.#config.deadlineMs);
    if (nowMs + delayMs >= untilMs && this.#cancelReason === undefined) {
      this.#fail(error);
      return;
    }
    this.#phase = 'waiting';
    this.#connectAtMs = nowMs + delayMs;
  }

  onTime(nowMs: number, random: number): void {
    if (this.#phase === 'over') return;
    if (nowMs >= this.#cancelUntilMs) {
      this.#closeLink();
      this.#phase = 'over';
      return;
    }
    if (nowMs >= this.#config.deadlineMs && this.#ending === undefined) {
      const error = new MillraceError('deadline-exceeded', 'the deadline of the stream has passed');
      this.cancel('the deadline has passed', error, nowMs);
      return;
    }
    if (this.#phase === 'waiting' && nowMs >= this.#connectAtMs) this.#connect(nowMs);
    else if (this.#phase === 'connecting' && nowMs >= this.#connectUntilMs) {
      this.#lose(unreachable(`the stream was not opened within ${this.#config.openMsMax} ms`, true), nowMs, random);
    } else if (this.#phase === 'open' && nowMs >= this.#phaseTimeMs()) this.#onSilence(nowMs, random);
  }

  #onSilence(nowMs: number, random: number): void {
    if (this.#askedAtMs === 0) {
      this.#askedAtMs = nowMs;
      this.#do({ kind: 'ping', frame: this.#inputs.repeatable() });
      return;
    }
    const silentMs = nowMs - this.#heardAtMs;
    this.#lose(unreachable(`the connection was silent for ${Math.round(silentMs)} ms`, true), nowMs, random);
  }

  /** Something is to come: an answer, an `accepted`, or the end; and the server has credit to send it. */
  #isOwed(): boolean {
    if (this.#phase !== 'open') return false;
    if (this.#cancelReason !== undefined) return true;
    if (this.#inputs.isUnaccepted) return true;
    const { credit } = this.#config;
    const isPaused = this.#received - this.#acknowledged >= credit.messages || this.#queuedBytes() >= credit.bytes;
    return !isPaused && (this.#inputs.accepted > this.#answered || this.#inputs.isEnded);
  }

  #queuedBytes(): number {
    return this.#queue.reduce((sum, { payload }) => sum + streamPayloadBytes(payload), 0);
  }

  #connect(nowMs: number): void {
    const { streamId, clientId, context, parameters, resumeAfter, credit, openMsMax } = this.#config;
    this.#phase = 'connecting';
    this.#attempts += 1;
    this.#connectUntilMs = nowMs + openMsMax;
    this.#resumedAfter = this.#handled;
    this.#do({
      kind: 'connect',
      open: {
        kind: 'open',
        streamId,
        // A new stream may have been opened by a connection that was lost before it said so.
        mode: resumeAfter === undefined && !this.#isOpenedOnce ? 'either' : 'resume',
        context,
        parameters,
        resumeAfter: this.#resumedAfter,
        outputCredit: credit,
        protocolVersions: [streamProtocolVersion],
        clientId,
        // One that was given up may reach the server after the next one, and must not take the stream from it.
        attempt: this.#attempts,
      },
    });
  }

  #onOpened(frame: StreamServerFrame & { kind: 'opened' }, nowMs: number, random: number): void {
    if (this.#phase !== 'connecting') return;
    const problem = this.#inputs.onOpened(frame.acceptedInput, frame.inputCredit);
    const expected = this.#resumedAfter + 1;
    if (frame.nextOutput !== expected) {
      this.#lose(unreadableAnswer(`the next output is ${frame.nextOutput} instead of ${expected}`), nowMs, random);
      return;
    }
    if (problem !== undefined) {
      this.#closeLink();
      this.#fail(problem);
      return;
    }
    this.#phase = 'open';
    this.#failures = 0;
    this.#acknowledged = this.#resumedAfter;
    this.#epoch = frame.epoch;
    if (this.#isOpenedOnce) this.#do({ kind: 'resumed', gapMs: nowMs - this.#awaySinceMs, epoch: this.#epoch });
    this.#isOpenedOnce = true;
    if (this.#cancelReason !== undefined) {
      this.#do({ kind: 'send', frame: { kind: 'cancel', reason: this.#cancelReason } });
      return;
    }
    this.#acknowledge();
    this.#sendInputs();
    this.#do({ kind: 'wake' });
  }

  #onOutput(frame: OutputFrame, nowMs: number, random: number): void {
    if (this.#ending !== undefined || frame.sequence <= this.#received) return;
    if (frame.sequence !== this.#received + 1) {
      this.#lose(unreadableAnswer(`output ${frame.sequence} follows ${this.#received}`), nowMs, random);
      return;
    }
    this.#received = frame.sequence;
    if (frame.endOfOutput) this.#answered = Math.max(this.#answered, frame.inputSequence);
    this.#queue.push(frame);
    this.#do({ kind: 'wake' });
  }

  #onEnded(outcome: StreamOutcome, code: MillraceError['code'] | undefined, message: string): void {
    this.#closeLink();
    this.#phase = 'over';
    const error = outcome === 'done' ? undefined : new MillraceError(code ?? 'internal', message);
    this.#end({ kind: 'ended', outcome, error });
  }

  #sendInputs(): void {
    for (const frame of this.#inputs.takeSendable()) this.#do({ kind: 'send', frame });
  }

  /** Gives the connection up, as if it had been lost. */
  #lose(error: MillraceError, nowMs: number, random: number): void {
    this.#closeLink();
    this.onLinkClosed(error.code === 'unreachable' ? error : unreachable(error.message, true, error), nowMs, random);
  }

  #fail(error: MillraceError): void {
    this.#phase = 'over';
    error.attempts = this.#failures;
    this.#end({ kind: 'ended', outcome: 'failed', error });
  }

  /** The first ending counts. */
  #end(ending: SessionEnding): void {
    this.#ending ??= ending;
    this.#do({ kind: 'wake' });
  }

  #closeLink(): void {
    if (this.#phase === 'open' || this.#phase === 'connecting') this.#do({ kind: 'close-link' });
  }

  #backoffMs(random: number): number {
    const { backoffMsInitial, backoffMsMax } = this.#config;
    return Math.min(backoffMsMax, backoffMsInitial * 2 ** Math.min(this.#failures - 1, 30)) * (0.5 + 0.5 * random);
  }

  #do(command: SessionCommand): void {
    this.#commands.push(command);
  }
}
