/**
 * The durable streams of this router: opens and resumes them, keeps those that are open, and finds those that an earlier
 * process left in the journal.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import {
  type OpenedStream,
  openDecisionOf,
  type StreamEntry,
  StreamMachine,
  type StreamMachineConfig,
} from '@millrace/core';
import {
  type AcceptedFrame,
  type AcknowledgeFrame,
  type CancelFrame,
  InferenceError,
  type InputFrame,
  type OpenFrame,
  type StreamCredit,
} from '@millrace/protocol';
import { type Journal, StoreError, type StreamLog, type StreamLogView } from '@millrace/store';
import { ClientLink, cancelMessage, inputEvent } from './client-link.ts';
import { decodeEntry } from './entry-codec.ts';
import { HostedStream, inferenceErrorFrom, type StreamClock } from './hosted-stream.ts';
import { ModelSteps, type ModelStepsParts } from './model-steps.ts';
import { decodeOpening, encodeOpening, type OpeningRecord, parametersDigest } from './opening-record.ts';
import type {
  AttachedLink,
  AttachOptions,
  StreamCaller,
  StreamGateway,
  StreamListenerOfLink,
  StreamStatus,
} from './stream-gateway.ts';
import type { StreamModels, StreamPin } from './stream-models.ts';
import type { ResumeCause, StreamObserver } from './stream-observer.ts';
import type { StreamSettings } from './stream-options.ts';

export interface StreamHostParts extends Omit<ModelStepsParts, 'clock'> {
  readonly journal: Journal;
  readonly models: StreamModels;
  readonly settings: StreamSettings;
  readonly clock: StreamClock & ModelStepsParts['clock'];
  readonly observer: StreamObserver;
}

/** A stream that this router owns, or is about to. */
interface Entry {
  readonly stream: HostedStream;
  readonly caller: string;
}

export class StreamHost implements StreamGateway {
  readonly #parts: StreamHostParts;
  readonly #owner = randomUUID();
  readonly #open = new Map<string, Entry>();
  /** Opens of the same id are handled one after another. */
  readonly #opening = new Map<string, Promise<unknown>>();
  readonly #openPerCaller = new Map<string, number>();
  #linkCount = 0;
  #isDraining: boolean = false;

  constructor(parts: StreamHostParts) {
    this.#parts = parts;
  }

  get openCount(): number {
    return this.#open.size;
  }

  attach(open: OpenFrame, caller: StreamCaller, options: AttachOptions, listener: StreamListenerOfLink): AttachedLink {
    this.#linkCount += 1;
    const link = new ClientLink(this.#linkCount, listener, this.#parts.clock, this.#parts.codec);
    this.#opened(open, caller).then(
      (stream) => {
        if (link.isDetached) return;
        const { resumeAfter, outputCredit = this.#defaultCredit } = open;
        const { isAcknowledging } = options;
        stream.attach(link.id, link, { resumeAfter, credit: outputCredit, isAcknowledging });
        link.passTo(stream, this.#defaultCredit);
      },
      (error: unknown) => {
        const refusal = refusalFrom(error);
        this.#parts.observer.streamRefused(refusal.code);
        link.onClosed(refusal);
      },
    );
    return link;
  }

  async input(id: string, frame: InputFrame, caller: StreamCaller): Promise<AcceptedFrame> {
    const stream = await this.#resumed(id, caller);
    stream.tell(inputEvent(undefined, frame, this.#parts.clock, this.#parts.codec));
    const input = await stream.accepted(frame.sequence);
    return { kind: 'accepted', input };
  }

  async acknowledge(id: string, frame: AcknowledgeFrame, caller: StreamCaller): Promise<void> {
    const stream = await this.#resumed(id, caller);
    stream.tell({ kind: 'acknowledged', link: undefined, output: frame.output, credit: frame.outputCredit });
  }

  async cancel(id: string, frame: CancelFrame, caller: StreamCaller): Promise<void> {
    const stream = await this.#resumed(id, caller);
    stream.tell({ kind: 'cancelled', link: undefined, message: cancelMessage(frame) });
  }

  async status(id: string, caller: StreamCaller): Promise<StreamStatus> {
    return (await this.#resumed(id, caller)).status();
  }

  /** All streams that this router owns, for operators. */
  list(): readonly StreamStatus[] {
    return [...this.#open.values()].map(({ stream }) => stream.status());
  }

  /** For operators: ends a stream of whomever. False: there is none. */
  cancelAny(id: string, message: string): boolean {
    const entry = this.#open.get(id);
    entry?.stream.tell({ kind: 'cancelled', link: undefined, message });
    return entry !== undefined;
  }

  /** Takes over the streams that an earlier process left, so that their times go on and their models are loaded. */
  async restore(): Promise<number> {
    const summaries = await this.#parts.journal.list();
    let restored = 0;
    for (const { stream: id } of summaries) {
      if (this.#isDraining) break;
      const found = await this.#serially(id, () => this.#restored(id, undefined)).catch(() => undefined);
      if (found !== undefined) restored += 1;
    }
    return restored;
  }

  /** Tells every client, and gives up every stream: whoever is next takes them over. */
  drain(): void {
    this.#isDraining = true;
    for (const { stream } of [...this.#open.values()]) stream.tell({ kind: 'draining' });
  }

  get #defaultCredit(): StreamCredit {
    const { creditMessages, creditBytes } = this.#parts.settings;
    return { messages: creditMessages, bytes: creditBytes };
  }

  /** The stream that an `open` frame asks for, new or resumed. */
  #opened(open: OpenFrame, caller: StreamCaller): Promise<HostedStream> {
    if (this.#isDraining) return Promise.reject(drainingRefusal());
    const id = open.streamId ?? randomBytes(16).toString('base64url');
    return this.#serially(id, async () => {
      const known = this.#open.get(id)?.stream;
      const view = known === undefined && open.streamId !== undefined ? await this.#parts.journal.peek(id) : undefined;
      const existing = known?.opening ?? (view && openingOf(view));
      const decision = openDecisionOf(
        {
          stream: id,
          mode: open.mode,
          principal: caller.principal,
          context: open.context === '' ? undefined : open.context,
          parametersDigest:
            open.mode === 'resume' && isEmpty(open.parameters) ? undefined : parametersDigest(open.parameters),
        },
        existing && openedStream(existing, known?.hasEnded ?? hasEnding(view)),
        // Whether the files have changed is known when the version is pinned again.
        existing?.modelDigest,
      );
      if (decision.kind === 'refuse') throw inferenceErrorFrom(decision.error);
      if (decision.kind === 'create') return this.#created(id, open, caller);
      this.#parts.observer.streamResumed(known === undefined ? 'router-restart' : ('reconnect' satisfies ResumeCause));
      const stream = known ?? (await this.#restored(id, view?.epoch));
      if (stream === undefined) throw notFound(id);
      return stream;
    });
  }

  /** A stream that a call beside its connection names. */
  async #resumed(id: string, caller: StreamCaller): Promise<HostedStream> {
    const resume: OpenFrame = {
      kind: 'open',
      streamId: id,
      mode: 'resume',
      context: '',
      parameters: {},
      resumeAfter: 0,
      protocolVersions: [],
    };
    return this.#opened(resume, caller);
  }

  async #created(id: string, open: OpenFrame, { caller, principal }: StreamCaller): Promise<HostedStream> {
    const { journal, models, settings, clock, observer } = this.#parts;
    this.#claimRoom(caller);
    let pin: StreamPin | undefined;
    try {
      let stream: HostedStream | undefined;
      const retired = (): void => this.#retireLater(() => stream);
      pin = await models.pin(open.context, retired);
      const openedAtMs = clock.wallNow();
      const expiresAtMs = openedAtMs + settings.lifeMsMax;
      const log = await journal.takeOver(id, this.#owner, { create: true, expectedEpoch: 0, expiresAtMs });
      if (log === undefined) throw new InferenceError('stream-conflict', `stream ${id} exists; choose another id`);
      const { view, kind, isResumable } = pin.model;
      const opening: OpeningRecord = {
        principal,
        context: open.context,
        parameters: open.parameters,
        model: view.name,
        version: view.version,
        modelDigest: pin.digest,
        modelKind: kind,
        isResumable,
        openedAtMs,
      };
      const first: StreamEntry<Uint8Array> & { kind: 'opening' } = {
        kind: 'opening',
        payload: encodeOpening(opening),
        expiresAt: expiresAtMs,
      };
      const machine = StreamMachine.open(first, this.#machineOptions(opening), openedAtMs);
      stream = this.#hosted(id, opening, log, machine, pin, caller, warningsFor(open));
      observer.streamOpened();
      return stream;
    } catch (error) {
      pin?.release();
      this.#giveRoom(caller);
      throw error;
    }
  }

  /** Undefined: there is none, or another router was faster. */
  async #restored(id: string, expectedEpoch: number | undefined): Promise<HostedStream | undefined> {
    const known = this.#open.get(id);
    if (known !== undefined) return known.stream;
    const { journal, models, clock } = this.#parts;
    const log = await journal.takeOver(id, this.#owner, expectedEpoch === undefined ? {} : { expectedEpoch });
    if (log === undefined) return undefined;
    const entries = [...log.snapshot, ...log.entries].map(decodeEntry);
    const [first] = entries;
    if (first?.kind !== 'opening') {
      // Its opening never became durable, so nobody was told of it.
      await log.close({ remove: true });
      return undefined;
    }
    const opening = decodeOpening(first.payload);
    this.#claimRoom('');
    let stream: HostedStream | undefined;
    const pin = await models.pinAgain(opening.model, opening.version, () => this.#retireLater(() => stream));
    const last = log.base + log.entries.length;
    const machine = StreamMachine.restore(entries, last, this.#machineOptions(opening), clock.wallNow());
    const isChanged = pin !== undefined && pin.digest !== opening.modelDigest;
    if (pin === undefined || isChanged) {
      const code = isChanged ? 'model-changed' : 'model-unloaded';
      const what = isChanged ? 'has other files than when the stream was opened' : 'is no longer served';
      const message = `version ${opening.version} of ${opening.model} ${what}; open a new stream`;
      machine.handle({ kind: 'model-lost', error: { code, message } }, clock.wallNow());
    }
    stream = this.#hosted(id, opening, log, machine, pin, '', []);
    return stream;
  }

  #hosted(
    id: string,
    opening: OpeningRecord,
    log: StreamLog,
    machine: StreamMachine<Uint8Array>,
    pin: StreamPin | undefined,
    caller: string,
    warnings: readonly string[],
  ): HostedStream {
    const { clock, observer } = this.#parts;
    const steps = new ModelSteps(this.#parts, pin, caller, {
      onOutput: (step, payload, isLast) => stream.tell({ kind: 'step-output', step, payload, isLast }),
      onDone: (step, state) => stream.tell({ kind: 'step-done', step, state }),
      onFailed: (step, error, hasWorkerDied, wasAlone) =>
        stream.tell({ kind: 'step-failed', step, error, hasWorkerDied, wasAlone }),
    });
    const onOver = (): void => {
      pin?.release();
      this.#open.delete(id);
      this.#giveRoom(caller);
    };
    const expiresAtMs = log.expiresAtMs;
    const stream = new HostedStream({
      id,
      opening,
      expiresAtMs,
      log,
      machine,
      steps,
      clock,
      observer,
      warnings,
      onOver,
    });
    this.#open.set(id, { stream, caller });
    stream.perform();
    return stream;
  }

  /** A replaced version stays for its streams for a while. */
  #retireLater(stream: () => HostedStream | undefined): void {
    const { clock, settings } = this.#parts;
    clock.alarm(settings.drainMsMax, () => {
      const message = 'the model version of the stream was replaced or unloaded; open a new stream';
      stream()?.tell({ kind: 'model-lost', error: { code: 'model-unloaded', message } });
    });
  }

  #machineOptions({ modelKind, isResumable }: OpeningRecord): {
    readonly config: Partial<StreamMachineConfig>;
    readonly isSame: (journaled: Uint8Array, again: Uint8Array) => boolean;
  } {
    const { resumeWindowMs, inputBytesMax, retainedOutputsMax, retainedBytesMax, lateInputs, latenessMsMax } =
      this.#parts.settings;
    const config = {
      model: modelKind,
      isResumable,
      resumeWindowMs,
      inputBytesMax,
      retainedOutputsMax,
      retainedBytesMax,
      lateInputs,
      latenessMsMax,
    };
    return { config, isSame: (journaled, again) => Buffer.compare(journaled, again) === 0 };
  }

  /** Runs one open or restore of an id after the other. */
  #serially<T>(id: string, run: () => Promise<T>): Promise<T> {
    const before = this.#opening.get(id);
    const mine = before === undefined ? run() : before.then(run, run);
    const settled = mine.then(nothing, nothing).then(() => {
      if (this.#opening.get(id) === settled) this.#opening.delete(id);
    });
    this.#opening.set(id, settled);
    return mine;
  }

  #claimRoom(caller: string): void {
    const { openMax, openPerCallerMax } = this.#parts.settings;
    const own = this.#openPerCaller.get(caller) ?? 0;
    if (this.#open.size >= openMax) {
      throw new InferenceError(
        'too-many-streams',
        `${openMax} streams are open, the most of this server; end some first`,
      );
    }
    if (caller !== '' && own >= openPerCallerMax) {
      throw new InferenceError(
        'too-many-streams',
        `this caller has ${own} open streams of at most ${openPerCallerMax}; end some first`,
      );
    }
    this.#openPerCaller.set(caller, own + 1);
  }

  #giveRoom(caller: string): void {
    const left = (this.#openPerCaller.get(caller) ?? 1) - 1;
    if (left > 0) this.#openPerCaller.set(caller, left);
    else this.#openPerCaller.delete(caller);
  }
}

function openingOf(view: StreamLogView): OpeningRecord | undefined {
  const [first] = [...view.snapshot, ...view.entries];
  const entry = first && decodeEntry(first);
  return entry?.kind === 'opening' ? decodeOpening(entry.payload) : undefined;
}

function hasEnding(view: StreamLogView | undefined): boolean {
  const last = view && (view.entries.at(-1) ?? view.snapshot.at(-1));
  return last !== undefined && decodeEntry(last).kind === 'ending';
}

function openedStream(opening: OpeningRecord, hasEnded: boolean): OpenedStream {
  const { principal, context, parameters, modelDigest } = opening;
  return { principal, context, parametersDigest: parametersDigest(parameters), modelDigest, hasEnded };
}

function isEmpty(parameters: OpenFrame['parameters']): boolean {
  return Object.keys(parameters).length === 0;
}

/** Without authentication whoever knows the id may resume the stream. */
function warningsFor({ streamId }: OpenFrame): readonly string[] {
  if (streamId === undefined || streamId.length >= guessableLengthMax) return [];
  return [
    `the stream id ${streamId} is easy to guess, and whoever knows it can resume the stream; use at least ${guessableLengthMax} random characters, or leave it to the server`,
  ];
}

/** 64 random bits in base64. */
const guessableLengthMax = 11;

function notFound(id: string): InferenceError {
  return new InferenceError('stream-not-found', `there is no stream ${id}, or it has expired; open a new one`);
}

function drainingRefusal(): InferenceError {
  return new InferenceError('draining', 'the server is shutting down; open the stream on another server');
}

function refusalFrom(error: unknown): InferenceError {
  if (error instanceof InferenceError) return error;
  if (!(error instanceof StoreError)) return new InferenceError('internal', String(error), { cause: error });
  const code = error.code === 'journal-full' ? 'journal-full' : 'journal-unavailable';
  return new InferenceError(code, error.message);
}

function nothing(): void {}
