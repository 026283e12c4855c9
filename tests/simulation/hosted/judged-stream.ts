/**
 * What has to be true of one durable stream: the rules of the stream referee, fed with what the journal of the real host
 * holds, and what its clients are sent. The undisturbed outputs are a function of the file of the model and the inputs.
 */
import type { LinkFrame } from '@millrace/core';
import { InferenceError, type StreamPayload } from '@millrace/protocol';
import type { InferRequest } from '@millrace/router';
import { payloadCodec } from '@millrace/router/edges';
import { decodeEntry, decodeOpening, type StreamLinkFrame } from '@millrace/router/internal';
import { nextStreamState } from '../lane/model-run.ts';
import { hopValue, rowValue } from '../lane/rows.ts';
import { answerCount } from '../lane/simulated-worker.ts';
import type { SimulatedRepository } from '../repository/simulated-repository.ts';
import type { ModelRun, PlannedInput, SimulatedValue } from '../streams/reference-run.ts';
import { StreamReferee } from '../streams/stream-referee.ts';
import type { StreamScript } from '../streams/stream-script.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { longLifeMs, type StreamHostWeather } from '../world/stream-host-weather.ts';
import { claim } from '../world/truth.ts';
import { wallOffsetMs } from './host-process.ts';
import type { LogWatcher } from './judged-journal.ts';
import { type HostedStreamPlan, streamKindOf } from './stream-plan.ts';
import { comparableEntry, inputPayload, makerOf, outputHash, outputValue, tensorValue } from './stream-values.ts';

/** Timers fire up to a millisecond early. */
const timerMs = 1;
/** A step that is refused is asked again within this time. */
const refusalMsMax = 1100;
/** A stream comes to its end within this time when nothing goes wrong any more. */
const quietMs = 15_000;

export interface JudgedStreamParts {
  readonly plan: HostedStreamPlan;
  readonly world: SimulatedWorld;
  readonly weather: StreamHostWeather;
  readonly repository: SimulatedRepository;
  /** A revision of the model was replaced while it was not in memory. */
  readonly isUnserved: (model: string) => boolean;
}

/** Until a process that takes over has restored the streams. */
const replacementMsMax = 3000;

export class JudgedStream implements StreamScript, LogWatcher {
  readonly plan: HostedStreamPlan;
  readonly config: StreamScript['config'];
  readonly isAcknowledging: boolean;
  readonly isDivergent = false;
  readonly referee: StreamReferee;
  readonly #world: SimulatedWorld;
  readonly #weather: StreamHostWeather;
  readonly #repository: SimulatedRepository;
  readonly #isUnserved: JudgedStreamParts['isUnserved'];
  /** By number: the entries that are durable and not trimmed. */
  readonly #entries = new Map<number, Uint8Array>();
  /** The file that it is pinned to; undefined: it is not opened, or the file was replaced before and nothing was run. */
  #stamp: number | undefined;
  /** When its opening was durable. */
  #openedAtMs: number | undefined;
  #version = '';
  #expiresAtMs = Number.POSITIVE_INFINITY;
  /** Of its last owner. */
  #epoch = 0;
  /** Links that are open by their process. */
  readonly #links = new Map<object, number>();
  /** Of these, the links that were told `opened`, and when there was last one, or the stream was made. */
  readonly #joined = new Map<object, number>();
  #joinedAtMs = Number.POSITIVE_INFINITY;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  #isGivenUp: boolean = false;
  /** Processes that were replaced, and their last epoch of it. */
  readonly #replaced = new WeakMap<object, number>();
  /** A process with several of its links hangs: one of them may still be closed by the next. */
  #hasLostSeveral: boolean = false;
  /** Processes were replaced about the time when it expired: its log may be gone before one of them could write its end. */
  #mayHaveVanished: boolean = false;
  /** When a process took it over last, since it was opened. */
  #restoredAtMs = Number.NEGATIVE_INFINITY;
  /** When a step of it was last refused because no worker had its model. */
  #notReadyAtMs = Number.NEGATIVE_INFINITY;
  /** Its files had been replaced when it was opened. */
  #wasReplacedBefore: boolean = false;

  constructor({ plan, world, weather, repository, isUnserved }: JudgedStreamParts) {
    this.plan = plan;
    this.#world = world;
    this.#weather = weather;
    this.#repository = repository;
    this.#isUnserved = isUnserved;
    this.isAcknowledging = plan.isAcknowledging;
    const { resumeWindowMs, inputBytesMax, retainedOutputsMax, retainedBytesMax } = weather.settings;
    const model = streamKindOf(plan.model);
    const isResumable = model !== 'decoupled' || plan.model.isResumable;
    this.config = { model, isResumable, resumeWindowMs, inputBytesMax, retainedOutputsMax, retainedBytesMax };
    this.referee = new StreamReferee(this, new Map());
  }

  /** Its opening is durable. */
  get isOpened(): boolean {
    return this.#openedAtMs !== undefined;
  }

  get hasExpired(): boolean {
    return this.#wallMs >= this.#expiresAtMs - timerMs;
  }

  get #isRestored(): boolean {
    return this.#restoredAtMs > Number.NEGATIVE_INFINITY;
  }

  get stepsMax(): number {
    return this.config.model === 'independent' ? 32 : 1;
  }

  planned(sequence: number): PlannedInput {
    const { weather, hasBareEnd, firstQuestion } = this.plan;
    const isLast = sequence === weather.inputs;
    const question = firstQuestion + sequence;
    const byteLength = payloadCodec.encodeInput(this.payload(sequence)).length;
    const isLate = (question * 37) % 100 < this.#weather.lateShare * 100;
    return {
      payload: isLast && hasBareEnd ? undefined : { value: question, byteLength },
      isLast,
      eventTime: question % 7 === 0 ? undefined : wallOffsetMs + sequence * 10 - (isLate ? 500 : 0),
    };
  }

  /** The tensors of an input. */
  payload(sequence: number): StreamPayload {
    const question = this.plan.firstQuestion + sequence;
    return inputPayload(question, question % 20, this.config.model !== 'decoupled');
  }

  run(input: SimulatedValue, state: SimulatedValue | undefined): ModelRun {
    const value = rowValue(input.value, 0);
    const output = (hops: number, sum?: number): SimulatedValue => ({
      byteLength: 0,
      value: outputHash(value + hops * hopValue, sum),
    });
    if (this.config.model === 'stateful') {
      const next = nextStreamState(state?.value ?? 0, value);
      return { outputs: [output(1, next)], saysLast: false, state: { byteLength: 0, value: next } };
    }
    const count = this.config.model === 'decoupled' ? answerCount(input.value) : 1;
    const outputs = Array.from({ length: count }, (_, index) => output(index + 1));
    return { outputs, saysLast: false, state: undefined };
  }

  mayEnd(code: string): boolean {
    const { truth, nowMs } = this.#world;
    const { firstQuestion, weather } = this.plan;
    const { drainMsMax, resumeWindowMs } = this.#weather.settings;
    const some = (isSo: (question: number) => boolean): boolean =>
      Array.from({ length: weather.inputs }, (_, index) => firstQuestion + index + 1).some(isSo);
    switch (code) {
      case 'inference-failed':
        return some((question) => truth.hasFailed(question));
      case 'poison-request':
        return some((question) => truth.hasFailedOrLost(question));
      case 'worker-lost':
        return !this.config.isResumable && (this.#isRestored || some((question) => truth.hasFailedOrLost(question)));
      case 'model-unloaded': {
        const changedAtMs = this.#changedAtMs;
        if (changedAtMs === undefined) return false;
        const drainedAtMs = changedAtMs + drainMsMax - timerMs;
        if (!this.#mayHaveNoSuccessor(drainedAtMs)) return false;
        const isUnserved = this.#isUnserved(this.plan.model.name);
        return this.#isRestored || isUnserved || nowMs >= drainedAtMs;
      }
      case 'model-changed':
        return this.#mayFindOtherFiles;
      case 'journal-full':
        return this.#weather.logEntriesMax < Number.POSITIVE_INFINITY;
      case 'stream-expired':
        return (
          (this.hasExpired && this.#mayTakeLong) ||
          // Restarts may prolong the window. A client that was never told `opened` does not count.
          (this.#joined.size === 0 && nowMs >= this.#joinedAtMs + resumeWindowMs - timerMs)
        );
      default:
        return false;
    }
  }

  failed(): void {
    // Nobody comes after a log that has expired: its owner had the resume window to write the end.
    if (this.#wallMs < this.#expiresAtMs + this.#weather.settings.resumeWindowMs) this.#isGivenUp = true;
  }

  /** Nobody may be left who writes its end: a later process or client does, or it ends with its log. */
  get mayBeAbandoned(): boolean {
    return this.#isGivenUp || this.#mayHaveVanished;
  }

  takenOver(epoch: number, entries: readonly Uint8Array[], last: number): void {
    claim(epoch > this.#epoch, `${this.plan.id} is taken over at epoch ${epoch}, after ${this.#epoch}`);
    this.#epoch = epoch;
    this.#isGivenUp = false;
    // The owner from here on does not know of clients that a process before it still has.
    for (const host of this.#joined.keys()) if (this.#isSuperseded(host)) this.#part(host);
    if (last === 0) this.#joinedAtMs = this.#world.nowMs;
    const first = last - entries.length + 1;
    const { lastNumber } = this.referee;
    claim(last >= lastNumber, `${this.plan.id} is found with ${last} entries, and ${lastNumber} are durable`);
    for (const [index, bytes] of entries.entries()) {
      const known = this.#entries.get(first + index);
      const isSame = known === undefined || Buffer.compare(known, bytes) === 0;
      claim(isSame, `entry ${first + index} of ${this.plan.id} is not what was durable`);
    }
    if (last > 0) this.#restoredAtMs = this.#world.nowMs;
    this.durable(entries.slice(Math.max(0, lastNumber + 1 - first)), last);
  }

  durable(entries: readonly Uint8Array[], last: number): void {
    for (const [index, bytes] of entries.entries()) {
      const number = last - entries.length + 1 + index;
      const entry = decodeEntry(bytes);
      if (entry.kind === 'opening') this.#noteOpening(entry.payload, entry.expiresAt);
      this.#entries.set(number, bytes);
      if (entry.kind === 'output' && entry.payload !== undefined) this.#noteMaker(makerOf(entry.payload));
      this.#world.note(this.plan.id, `entry ${number} is durable: ${entry.kind}`);
      this.referee.noteDurable(comparableEntry(entry), number);
    }
  }

  trimmed(snapshot: readonly Uint8Array[], to: number): void {
    for (const number of this.#entries.keys()) if (number <= to) this.#entries.delete(number);
    const kept = [...snapshot, ...this.#entries.values()].map((bytes) => comparableEntry(decodeEntry(bytes)));
    this.referee.noteTrim(kept);
  }

  /** A step is asked for: an input that is to be run, with the state after the one before it. */
  asked({ inputs }: InferRequest, question: number): void {
    const sequence = question - this.plan.firstQuestion;
    const state = tensorValue(inputs, 'state');
    const { payload, isLast, eventTime } = this.planned(sequence);
    this.referee.checkRun(
      { kind: 'input', sequence, payload, isLast, eventTime, isDropped: false },
      // The state before the first input is all zeros.
      state === undefined || state === 0 ? undefined : { byteLength: 0, value: state },
    );
  }

  /** A step of it was refused: it is asked again, or the stream ends. */
  refused(error: unknown): void {
    this.#refusedAtMs = this.#world.nowMs;
    if (error instanceof InferenceError && error.code === 'model-not-ready') this.#notReadyAtMs = this.#world.nowMs;
  }

  linked(host: object): void {
    // A process that hangs still has the links of before.
    const before = this.#links.get(host) ?? (this.#replaced.has(host) ? 1 : 0);
    this.#links.set(host, before + 1);
  }

  unlinked(host: object): void {
    const links = this.#links.get(host);
    if (links === undefined) return;
    if (links > 1) this.#links.set(host, links - 1);
    else this.#links.delete(host);
  }

  /** A link is told that the stream is open: now there is a client. */
  joined(host: object): void {
    if (!this.#isSuperseded(host)) this.#joined.set(host, (this.#joined.get(host) ?? 0) + 1);
  }

  /** A link that was told so is no more. */
  parted(host: object): void {
    const joined = this.#joined.get(host);
    if (joined === undefined) return;
    if (joined > 1) this.#joined.set(host, joined - 1);
    else this.#part(host);
  }

  /** The process is replaced. */
  lost(host: object): void {
    const { resumeWindowMs } = this.#weather.settings;
    const sinceLifeMs = this.#wallMs - this.#expiresAtMs;
    if (sinceLifeMs > -replacementMsMax && sinceLifeMs < resumeWindowMs) this.#mayHaveVanished = true;
    if ((this.#links.get(host) ?? 0) > 1) this.#hasLostSeveral = true;
    this.#replaced.set(host, this.#epoch);
    this.#links.delete(host);
  }

  /** It was replaced, and the next process has taken the stream over. */
  #isSuperseded(host: object): boolean {
    return this.#epoch > (this.#replaced.get(host) ?? Number.POSITIVE_INFINITY);
  }

  #part(host: object): void {
    this.#joined.delete(host);
    this.#joinedAtMs = this.#world.nowMs;
  }

  /** What the host sends to a link, as clients and the referee read it. */
  frameFrom(frame: StreamLinkFrame): LinkFrame<SimulatedValue> {
    switch (frame.kind) {
      case 'opened': {
        const { acceptedInput, nextOutput, inputCredit, epoch, streamId, model, version } = frame;
        const { id, model: planned } = this.plan;
        claim(streamId === id && model === planned.name, `${id} is opened as ${streamId} on ${model}`);
        claim(version === this.#version, `${id} is pinned to version ${this.#version}, and opened on ${version}`);
        claim(epoch > 0 && epoch <= this.#epoch, `${id} is opened at epoch ${epoch}, and its log has ${this.#epoch}`);
        return { kind: 'opened', acceptedInput, nextOutput, inputCredit };
      }
      case 'accepted':
        return { kind: 'accepted', acceptedInput: frame.input, inputCredit: frame.inputCredit ?? noCredit };
      case 'output': {
        const { sequence, inputSequence: input, payload, endOfOutput: isLast } = frame;
        return {
          kind: 'output',
          output: { kind: 'output', sequence, input, isLast, payload: payload && outputValue(payload) },
        };
      }
      case 'draining':
        return { kind: 'draining' };
      case 'ended': {
        const { outcome, code, message, outputs } = frame;
        return { kind: 'ended', outcome, error: code === undefined ? undefined : { code, message }, outputs };
      }
    }
  }

  /** A link is refused, or closed while the stream goes on, for a reason. */
  claimClosedJustly({ code, message }: InferenceError): void {
    const isOver = this.referee.ending !== undefined || this.hasExpired;
    const mayBe: Readonly<Record<string, boolean>> = {
      draining: true,
      'invalid-request': false,
      'journal-full': this.#weather.logEntriesMax < Number.POSITIVE_INFINITY,
      // A process that was replaced cannot read it either.
      'journal-unavailable': this.#weather.unknownMs < Number.POSITIVE_INFINITY || this.#weather.zombieShare > 0,
      'model-not-ready': true,
      'output-expired': true,
      'stream-conflict': isOver,
      'stream-expired': isOver,
      'stream-not-found': isOver,
      'stream-superseded': this.#hasLostSeveral || [...this.#links.values()].some((links) => links > 1),
      'too-many-streams': true,
      'unknown-model': !this.isOpened,
    };
    claim(mayBe[code] === true, `a link of ${this.plan.id} is closed with ${code} for no reason: ${message}`);
  }

  /** Its life is short, its model cannot be had, or something still goes wrong now and then. */
  get #mayTakeLong(): boolean {
    const { nowMs, calmAtMs } = this.#world;
    const isShort = this.#weather.settings.lifeMsMax < longLifeMs;
    // Its end may be written later, by whoever takes it over then.
    const livedUntilMs = Math.min(nowMs, this.#expiresAtMs - wallOffsetMs);
    return isShort || livedUntilMs < this.#refusedAtMs + refusalMsMax || nowMs < calmAtMs + quietMs;
  }

  /**
   * Its files are compared when a process takes it over, and when no worker has its model: they had been replaced by then. Files that
   * were replaced before they could be compared for the first time equal no others.
   */
  get #mayFindOtherFiles(): boolean {
    const comparedAtMs = Math.max(
      this.#restoredAtMs + this.#weather.digestMsMax,
      this.#notReadyAtMs + this.#repository.checkMsMax,
    );
    if (this.#wasReplacedBefore) return comparedAtMs > Number.NEGATIVE_INFINITY;
    const replacedAtMs = this.#stamp === undefined ? undefined : this.#repository.replacedAt(this.#stamp);
    return replacedAtMs !== undefined && replacedAtMs <= comparedAtMs;
  }

  get #wallMs(): number {
    return wallOffsetMs + this.#world.nowMs;
  }

  /** All outputs are of the same file. */
  #noteMaker(stamp: number | undefined): void {
    this.#stamp ??= stamp;
    claim(stamp === this.#stamp, `${this.plan.id} is pinned to file ${this.#stamp}, and file ${stamp} ran it`);
  }

  /** It follows a revision with the same files, unless these cannot be read when its own revision has stayed for long enough. */
  #mayHaveNoSuccessor(drainedAtMs: number): boolean {
    if (this.#stamp === undefined || this.#repository.replacedAt(this.#stamp) !== undefined) return true;
    return this.#repository.unreadableUntil(this.plan.model.name) >= drainedAtMs;
  }

  /** When something changed by which its revision may be replaced. */
  get #changedAtMs(): number | undefined {
    if (this.#stamp !== undefined) return this.#repository.changedAfter(this.#stamp);
    // Which file it is pinned to is not known before it ran; a revision that was replaced before takes streams until the last lets go.
    return this.#openedAtMs === undefined ? undefined : this.#openedAtMs - this.#weather.settings.drainMsMax;
  }

  #noteOpening(payload: Uint8Array, expiresAt: number): void {
    const { model, version, modelDigest, principal } = decodeOpening(payload);
    claim(principal === this.plan.caller.principal, `${this.plan.id} belongs to ${principal}`);
    claim(model === this.plan.model.name, `${this.plan.id} is opened on ${model}`);
    this.#wasReplacedBefore = modelDigest === 'replaced';
    this.#stamp = this.#wasReplacedBefore ? undefined : Number(modelDigest);
    this.#openedAtMs = this.#world.nowMs;
    this.#version = version;
    this.#expiresAtMs = expiresAt;
  }
}

const noCredit = { messages: 0, bytes: 0 };
