/** A durable stream for programs: `send` inputs, iterate over outputs. Connections come and go below it. */
import type { OpenFrame, OutputFrame } from '@millrace/protocol';
import type { Endpoints } from '../calls/endpoints.ts';
import { type HeaderSource, withHeaders } from '../calls/header-source.ts';
import type { ClientClock } from '../client-clock.ts';
import { type ClientObserver, callHook } from '../client-observer.ts';
import { MillraceError, unreachable } from '../errors/millrace-error.ts';
import type { AnyModel, ModelType, StreamInputOf, StreamOutputsOf } from '../model-types.ts';
import { OutputTensor } from '../tensors/output-tensor.ts';
import type { LinkListener, TransportLink } from '../transports/transport.ts';
import type { SessionInput } from './kept-inputs.ts';
import { ClientStreamSession, type SessionCommand, type SessionConfig } from './stream-session.ts';

/** Everything it takes to go on with a stream later, elsewhere or after a reload: plain JSON. */
export interface StreamPosition {
  readonly streamId: string;
  readonly model: string;
  /** The last output that was handled. */
  readonly output: number;
  /** The last input that the server has durably; further ones were lost with this client. */
  readonly input: number;
}

/** One output of a stream. */
export interface StreamedOutput<Model extends ModelType = AnyModel> {
  /** 1, 2, 3 and so on, the same after every resume. */
  readonly sequence: number;
  /** The input that it answers. */
  readonly inputSequence: number;
  /** The last output for that input. */
  readonly isLast: boolean;
  readonly tensors: StreamOutputsOf<Model>;
  /** Of a model that answers with text, and of a generator the text that is complete with its token. */
  readonly text: string | undefined;
  readonly token: number | undefined;
  readonly bytes: Uint8Array | undefined;
}

export interface StreamEvents {
  /** The connection was lost; outputs pause, nothing is lost. */
  readonly onGap?: ((error: MillraceError) => void) | undefined;
  readonly onResumed?: ((gapMs: number) => void) | undefined;
}

export interface StreamEnvironment {
  readonly endpoints: Endpoints;
  readonly clock: ClientClock;
  readonly headers: HeaderSource | undefined;
  readonly observe: ClientObserver | undefined;
}

export class InferenceStream<Model extends ModelType = AnyModel> implements AsyncIterable<StreamedOutput<Model>> {
  readonly #environment: StreamEnvironment;
  readonly #config: SessionConfig;
  readonly #events: StreamEvents;
  readonly #session: ClientStreamSession;
  readonly #encode: (input: unknown) => SessionInput['payload'] | Promise<SessionInput['payload']>;
  #link: TransportLink | undefined = undefined;
  /** Counts connections, so that what an earlier one still says is not heard. */
  #linkNumber = 0;
  #endpoint = -1;
  /** The endpoint that opened the stream last; -1: none yet. */
  #openedAt = -1;
  #stopTimer: (() => void) | undefined = undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #waiting: (() => void)[] = [];
  #isRunning: boolean = false;
  readonly #forget: () => void;
  #stopListening: (() => void) | undefined = undefined;
  /** Inputs are encoded one after the other: some have to be read first. */
  #encoding: Promise<void> = Promise.resolve();

  constructor(
    environment: StreamEnvironment,
    config: SessionConfig,
    encode: (input: unknown) => SessionInput['payload'] | Promise<SessionInput['payload']>,
    events: StreamEvents,
  ) {
    this.#environment = environment;
    this.#config = config;
    this.#encode = encode;
    this.#events = events;
    this.#session = new ClientStreamSession(config, environment.clock.nowMs());
    this.#forget = environment.endpoints.whenClosed(() =>
      this.#leave(new MillraceError('cancelled', 'the client is closed')),
    );
    this.#run();
  }

  get streamId(): string {
    return this.#config.streamId;
  }

  /** Store it with what was made of the outputs: a client that resumes after it misses nothing and repeats nothing. */
  get position(): StreamPosition {
    const { streamId, context } = this.#config;
    return { streamId, model: context, output: this.#session.handledOutput, input: this.#session.acceptedInput };
  }

  /** Resolves when the server has opened the stream, with the last input that it has. */
  async opened(): Promise<number> {
    await this.#until(() => this.#session.isOpened || this.#session.ending !== undefined);
    if (!this.#session.isOpened) this.#throwEnding();
    return this.#session.acceptedInput;
  }

  /** Resolves when there is room for another input. */
  send(input: StreamInputOf<Model>, options: { eventTimeMs?: number; deadlineMs?: number } = {}): Promise<void> {
    return this.#add(() => this.#encode(input), false, options);
  }

  /** No input follows. Outputs still come. */
  end(): Promise<void> {
    return this.#add(() => ({ kind: 'none' }), true, {});
  }

  /** The last input. */
  sendLast(input: StreamInputOf<Model>): Promise<void> {
    return this.#add(() => this.#encode(input), true, {});
  }

  #add(
    encode: () => SessionInput['payload'] | Promise<SessionInput['payload']>,
    endOfInput: boolean,
    options: { eventTimeMs?: number; deadlineMs?: number },
  ): Promise<void> {
    const added = this.#encoding.then(async () => {
      const payload = await encode();
      await this.#until(() => this.#session.hasRoom || this.#session.ending !== undefined);
      if (this.#session.ending !== undefined) this.#throwEnding();
      this.#session.addInput({ payload, endOfInput, ...options }, this.#environment.clock.nowMs());
      this.#run();
      await this.#until(() => this.#session.hasRoom || this.#session.ending !== undefined);
    });
    // What is wrong with one input is told to who sent it, and does not stop the next.
    this.#encoding = added.catch(() => {});
    return added;
  }

  /** Stops the work. The iteration ends with the error `cancelled`. */
  cancel(reason = 'the client cancelled the stream'): void {
    this.#cancel(reason, new MillraceError('cancelled', reason));
  }

  #cancel(reason: string, error: MillraceError): void {
    this.#session.cancel(reason, error, this.#environment.clock.nowMs());
    this.#run();
  }

  /** Leaves the stream without ending it, and gives the position to resume after. */
  detach(): StreamPosition {
    this.#leave();
    return this.position;
  }

  /** With an error: the program did not ask for it, and must not take what it has for the whole. */
  #leave(error?: MillraceError): void {
    this.#session.detach(error);
    this.#run();
  }

  /** One program takes the outputs. An iteration that is left early cancels the stream: `detach` first to keep it. */
  [Symbol.asyncIterator](): AsyncIterator<StreamedOutput<Model>, undefined> {
    const { clock } = this.#environment;
    return {
      next: async () => {
        for (;;) {
          const output = this.#session.takeOutput(clock.nowMs());
          this.#run();
          if (output !== undefined) return { done: false, value: outputFrom(output) as StreamedOutput<Model> };
          const { ending } = this.#session;
          if (ending?.kind === 'ended' && ending.error !== undefined) throw ending.error;
          if (ending !== undefined) return { done: true, value: undefined };
          await this.#next();
        }
      },
      return: () => {
        this.cancel('the client stopped reading the stream');
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  /** Lets a signal cancel the stream. */
  cancelBy(signal: AbortSignal): void {
    const cancel = (): void => {
      const cause: unknown = signal.reason;
      this.#cancel(
        'the client aborted the stream',
        new MillraceError('cancelled', 'the stream was aborted', { cause }),
      );
    };
    if (signal.aborted) cancel();
    else {
      signal.addEventListener('abort', cancel, { once: true });
      this.#stopListening = () => signal.removeEventListener('abort', cancel);
    }
  }

  #throwEnding(): never {
    const { ending } = this.#session;
    if (ending?.kind === 'ended' && ending.error !== undefined) throw ending.error;
    throw new MillraceError('input-after-end', 'the stream has ended; it takes no further input');
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.#next();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Carries out what the session wants, also what follows from that. */
  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let commands = this.#session.takeCommands(); commands.length > 0; commands = this.#session.takeCommands()) {
      for (const command of commands) this.#carryOut(command);
    }
    this.#isRunning = false;
    this.#schedule();
  }

  #carryOut(command: SessionCommand): void {
    const { endpoints, observe } = this.#environment;
    switch (command.kind) {
      case 'connect':
        this.#connect(command.open);
        break;
      case 'send':
        this.#link?.send(command.frame);
        break;
      case 'ping':
        if (this.#link?.ping === undefined) this.#link?.send(command.frame);
        else this.#link.ping(command.frame);
        break;
      case 'close-link':
        this.#linkNumber += 1;
        this.#link?.close();
        this.#link = undefined;
        break;
      case 'wake':
        for (const resolve of this.#waiting.splice(0)) resolve();
        break;
      case 'gap':
        callHook(observe, { kind: 'stream-gap', streamId: this.streamId, error: command.error });
        callHook(this.#events.onGap, command.error);
        break;
      case 'resumed':
        callHook(observe, { kind: 'stream-resumed', streamId: this.streamId, gapMs: command.gapMs });
        callHook(this.#events.onResumed, command.gapMs);
        break;
      case 'draining':
        endpoints.onDraining(this.#endpoint);
        break;
    }
  }

  #connect(open: OpenFrame): void {
    this.#linkNumber += 1;
    const number = this.#linkNumber;
    withHeaders(
      this.#environment.headers,
      (list) => {
        if (number === this.#linkNumber) this.#openLink(number, open, list);
      },
      (error) => this.#onRefused(number, error),
    );
  }

  /**
   * The program's headers cannot be had, or cannot be sent. For a stream that is resumed this is a lost connection, tried
   * again; one that was never opened ends, as a call does.
   */
  #onRefused(number: number, cause: unknown): void {
    if (number !== this.#linkNumber) return;
    const error = unreachable(`the stream cannot be opened: ${String(cause)}`, false, cause);
    if (this.#session.isOpened) this.#onClose(number, error);
    else this.#leave(error);
  }

  #openLink(number: number, open: OpenFrame, headers: readonly (readonly [string, string])[]): void {
    const { endpoints, clock, observe } = this.#environment;
    this.#endpoint = endpoints.choose();
    const { links, url } = endpoints.at(this.#endpoint);
    callHook(observe, { kind: 'stream-connecting', streamId: this.streamId, endpoint: url });
    const isPresent = (): boolean => number === this.#linkNumber;
    const listener: LinkListener = {
      onFrame: (frame) => {
        if (!isPresent()) return;
        if (frame.kind === 'opened') this.#onOpened();
        this.#session.onFrame(frame, clock.nowMs(), clock.random());
        this.#run();
      },
      onAccepted: (frame) => {
        if (!isPresent()) return;
        this.#session.onAccepted(frame);
        this.#run();
      },
      onActivity: () => {
        if (!isPresent()) return;
        this.#session.onActivity(clock.nowMs());
        this.#schedule();
      },
      onClose: (error) => this.#onClose(number, error),
    };
    try {
      this.#link = links.connect(open, { timeoutMs: Number.POSITIVE_INFINITY, headers }, listener);
    } catch (error) {
      // Too many wait for a connection: as good as none.
      if (!(error instanceof MillraceError)) throw error;
      this.#onClose(number, error);
    }
  }

  #onOpened(): void {
    this.#environment.endpoints.onAnswer(this.#endpoint);
    this.#openedAt = this.#endpoint;
  }

  #onClose(number: number, error: MillraceError): void {
    if (number !== this.#linkNumber) return;
    const { endpoints, clock } = this.#environment;
    this.#link = undefined;
    endpoints.onError(this.#endpoint, error);
    this.#session.onLinkClosed(this.#meaningOf(error), clock.nowMs(), clock.random());
    this.#run();
  }

  /** Servers that share no journal know only their own streams: the one that has it may come back. */
  #meaningOf(error: MillraceError): MillraceError {
    if (error.code !== 'stream-not-found' || this.#openedAt < 0 || this.#openedAt === this.#endpoint) return error;
    const { endpoints } = this.#environment;
    const [here, there] = [endpoints.at(this.#endpoint).url, endpoints.at(this.#openedAt).url];
    return unreachable(`${here} does not know the stream, which was opened at ${there}`, true, error);
  }

  #schedule(): void {
    const { clock } = this.#environment;
    const atMs = this.#session.nextTimeMs;
    if (this.#session.isOver) {
      this.#forget();
      this.#stopListening?.();
    }
    if (atMs === this.#timerAtMs) return;
    // A timer that fires early sets the next one: silence moves with every frame, and timers need not.
    if (atMs > this.#timerAtMs && atMs !== Number.POSITIVE_INFINITY) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#timerAtMs = atMs;
    if (atMs === Number.POSITIVE_INFINITY) return;
    this.#stopTimer = clock.setTimer(atMs - clock.nowMs(), () => {
      this.#timerAtMs = Number.POSITIVE_INFINITY;
      this.#session.onTime(clock.nowMs(), clock.random());
      this.#run();
    });
  }
}

function outputFrom({ sequence, inputSequence, payload, endOfOutput }: OutputFrame): StreamedOutput {
  const tensors: Record<string, OutputTensor> = {};
  if (payload.kind === 'tensors') for (const tensor of payload.tensors) tensors[tensor.name] = new OutputTensor(tensor);
  return {
    sequence,
    inputSequence,
    isLast: endOfOutput,
    tensors,
    text: payload.kind === 'text' || payload.kind === 'token' ? payload.text : undefined,
    token: payload.kind === 'token' ? payload.id : undefined,
    bytes: payload.kind === 'bytes' ? payload.bytes : undefined,
  };
}
