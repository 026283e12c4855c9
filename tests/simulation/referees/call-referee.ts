/**
 * Judges what callers see: every call is answered exactly once, with its own rows, by a version that its name meant and
 * that was served while it was open; or refused for a reason that the world gave. It knows what callers sent and got, what
 * operators asked for, and what of a model is served.
 */
import { type ErrorCode, errorCatalogue, type InferenceError } from '@millrace/protocol';
import type { InferAnswer } from '@millrace/router';
import type { ServedModel } from '@millrace/router/catalogue';
import { sequenceState } from '../lane/model-run.ts';
import { hopValue, int32Values, rowValue } from '../lane/rows.ts';
import { answerCount } from '../lane/simulated-worker.ts';
import type { WorldModel } from '../repository/layout.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { claim } from '../world/truth.ts';
import type { LibraryReferee } from './library-referee.ts';

/** A sequence as its caller knows it. */
export interface SimulatedSequence {
  readonly startQuestion: number;
  /** Steps that were answered. */
  answered: number;
  /** Who ran the last of them. */
  stamp: number;
  /** The first step that was refused: no later one may be answered; Infinity: none. */
  brokenAt: number;
  /** What its later steps find is not known. */
  isUnsure: boolean;
}

/** One of its steps, by position from 1. */
export interface SimulatedStep {
  readonly sequence: SimulatedSequence;
  readonly index: number;
  readonly isStart: boolean;
}

/** What a caller asks for: `model`, `model:version` or `model@label`. */
export interface SimulatedCall {
  readonly id: number;
  readonly model: WorldModel;
  readonly address: string;
  readonly question: number;
  readonly rows: number;
  readonly deadlineAt: number;
  /** Its step in a sequence. */
  readonly step: SimulatedStep | undefined;
}

interface CallRecord {
  readonly call: SimulatedCall;
  readonly startedAt: number;
  /** The versions that the address stands for; undefined: the highest that there is. */
  readonly targets: readonly string[] | undefined;
  /** Versions that were meant at some time since it began, of its model and of the steps of that; as `name:version`. */
  readonly meant: Set<string>;
  /** The stamps of those that were served and may have given the answer. */
  readonly stamps: Set<number>;
  /** At some time nothing of what it asks for could be had; a version that it meant was not served. */
  wasUnavailable: boolean;
  wasUnserved: boolean;
  cancelled: { readonly at: number; readonly reason: ErrorCode } | undefined;
  /** Answers of a decoupled model so far. */
  partialCount: number;
}

/** The traffic of one model as operators want it. */
export interface WantedTraffic {
  readonly labels: ReadonlyMap<string, string>;
  readonly split: readonly string[];
}

/** Timers fire up to a millisecond early. */
const timerMs = 1;
/** The time that the caller of a stream takes to read the outputs before the last one. */
const streamMs = 20;
/** Fewer rows than this fit a batch of every model. */
const rowsMaxMin = 3;

export class CallReferee {
  readonly #world: SimulatedWorld;
  readonly #library: LibraryReferee;
  readonly #open = new Map<number, CallRecord>();
  readonly #traffic = new Map<string, WantedTraffic>();

  constructor(world: SimulatedWorld, library: LibraryReferee) {
    this.#world = world;
    this.#library = library;
  }

  noteTraffic(model: string, wanted: WantedTraffic): void {
    this.#traffic.set(model, wanted);
  }

  begun(call: SimulatedCall): void {
    const record: CallRecord = {
      call,
      startedAt: this.#world.nowMs,
      targets: this.#targetsOf(call.address),
      meant: new Set(),
      stamps: new Set(),
      wasUnavailable: false,
      wasUnserved: false,
      cancelled: undefined,
      partialCount: 0,
    };
    this.#open.set(call.id, record);
    this.#review(record);
  }

  /** What is served may have changed. */
  review(): void {
    for (const record of this.#open.values()) this.#review(record);
  }

  cancelled(id: number, reason: ErrorCode): void {
    const record = this.#open.get(id);
    if (record !== undefined) record.cancelled = { at: this.#world.nowMs, reason };
  }

  answered(id: number, answer: InferAnswer): void {
    const record = this.#end(id);
    const { call } = record;
    this.#claimAnswerable(record, answer);
    const stamp = this.claimRows(call, answer);
    if (call.step === undefined) this.#claimServed(record, stamp);
    else this.#claimStep(record, call.step, stamp, answer);
  }

  /** One of several answers. */
  gavePart(id: number, answer: InferAnswer): void {
    const record = this.#open.get(id);
    claim(record !== undefined, `call ${id} got an answer after its end`);
    record.partialCount += 1;
    this.#claimAnswerable(record, answer);
    this.#claimServed(record, this.claimRows(record.call, answer, record.partialCount));
  }

  gaveAll(id: number): void {
    const { call, partialCount } = this.#end(id);
    const expected = answerCount(call.question);
    claim(partialCount === expected, `call ${id} got ${partialCount} answers of ${expected}`);
  }

  /** The answer holds the rows of the call and no others; also later, until it is released. Returns who ran them. */
  claimRows({ id, model, question, rows }: SimulatedCall, { outputs }: InferAnswer, hops = hopsOf(model)): number {
    const values = valuesOf(outputs, 'y');
    const expected = Array.from({ length: rows }, (_, row) => rowValue(question, row) + hops * hopValue);
    claim(`${values}` === `${expected}`, `call ${id} got other rows than its own: ${values}`);
    const [stamp = 0, ...others] = valuesOf(outputs, 'by');
    // Parts of a request may be run by several revisions, each of them served at its time.
    claim(
      model.isSplit || others.every((other) => other === stamp),
      `the rows of call ${id} were run by several files`,
    );
    return stamp;
  }

  /**
   * The last worker of the model is lost. Calls that wait for it may be refused, also where another revision serves by now; so may
   * those of ensembles that have it for a step. A router that drains does not take such an ensemble out of service any more.
   */
  noteLost(model: string): void {
    for (const record of this.#open.values()) {
      const { name, steps } = record.call.model;
      if (name === model || steps.includes(model)) record.wasUnserved = true;
    }
  }

  refused(id: number, { code, message }: InferenceError): void {
    const { nowMs, truth, isEnding } = this.#world;
    const record = this.#end(id);
    const { call, cancelled, wasUnavailable, wasUnserved } = record;
    const said = `call ${id} for ${call.address} is refused as ${code} (${message})`;
    claim(code in errorCatalogue && code !== 'internal', `${said}, which is no reason`);
    // A step is refused for what became of those before it.
    const isLater = call.step?.isStart === false;
    if (code === 'unknown-model') claim(isLater || wasUnavailable, `${said}, but was to be had all the time`);
    if (code === 'model-not-ready') claim(isLater || wasUnserved, `${said}, but was served all the time`);
    const isCancelled = cancelled?.reason === code || isLater;
    if (code === 'cancelled') claim(isCancelled, `${said}, but nobody cancelled it`);
    if (code === 'draining') claim(isEnding, `${said}, but nobody ended the router`);
    const isInvalid = call.rows > rowsMaxMin || isLater;
    if (code === 'invalid-request') claim(isInvalid, `${said}, but it is valid`);
    if (code === 'deadline-exceeded') {
      claim(cancelled?.reason === code || nowMs >= call.deadlineAt - timerMs, `${said}, but it had time left`);
    }
    const { step } = call;
    if (step !== undefined) noteRefusedStep(step, wasUnserved || wasUnavailable);
    if (!isLater) {
      // A run that calls another model may have to wait for it.
      const isSolitary = call.model.isConcurrent && call.model.callee === undefined;
      truth.claimJust(call.question, code, isSolitary);
    }
  }

  atEnd(): void {
    claim(this.#open.size === 0, `calls without an end: ${[...this.#open.keys()].join(' ')}`);
  }

  #end(id: number): CallRecord {
    const { nowMs } = this.#world;
    const record = this.#open.get(id);
    claim(record !== undefined, `call ${id} ended twice`);
    this.#open.delete(id);
    const { call, cancelled, startedAt } = record;
    const dueAt = Math.max(call.deadlineAt, startedAt);
    const slackMs = call.model.kind === 'decoupled' ? streamMs : 0;
    const isInTime = nowMs <= dueAt + timerMs + slackMs;
    claim(isInTime, `call ${id} ended at ${nowMs}, after its deadline at ${call.deadlineAt}`);
    const isObeyed = cancelled === undefined || nowMs <= cancelled.at + slackMs;
    claim(isObeyed, `call ${id} was cancelled at ${cancelled?.at}, and goes on`);
    return record;
  }

  #claimAnswerable({ call, meant }: CallRecord, { model, version }: InferAnswer): void {
    const nature = this.#world.truth.natureOf(call.question);
    const said = `call ${call.id} for ${call.address} is answered`;
    claim(nature === 'plain', `${said}, but no worker can answer it: it is ${nature}`);
    claim(model === call.model.name, `${said} by ${model}`);
    // A sequence stays with the version that has its state.
    const isMeant = meant.has(`${model}:${version}`) || call.step?.isStart === false;
    claim(isMeant, `${said} by version ${version}, and meant ${[...meant]}`);
  }

  #claimServed({ call, stamps }: CallRecord, stamp: number): void {
    claim(stamps.has(stamp), `call ${call.id} is answered by file ${stamp}; served since it began: ${[...stamps]}`);
  }

  /** Every step before it was answered, by the same file, and left the state that this one found. */
  #claimStep(
    record: CallRecord,
    { sequence, index, isStart }: SimulatedStep,
    stamp: number,
    answer: InferAnswer,
  ): void {
    const { id } = record.call;
    if (sequence.isUnsure) return;
    if (isStart) this.#claimServed(record, stamp);
    else claim(stamp === sequence.stamp, `step ${index} of call ${id} is run by file ${stamp}, not ${sequence.stamp}`);
    const answered = sequence.answered + 1;
    claim(index === answered, `step ${index} of call ${id} is answered, but ${sequence.answered} before it were`);
    const isWhole = index < sequence.brokenAt;
    claim(isWhole, `step ${index} of call ${id} is answered, though step ${sequence.brokenAt} was refused`);
    const [state] = valuesOf(answer.outputs, 'seq');
    const expected = sequenceState(sequence.startQuestion, index);
    claim(state === expected, `step ${index} of call ${id} found the state of another: ${state}, not ${expected}`);
    sequence.answered = answered;
    sequence.stamp = stamp;
  }

  #review(record: CallRecord): void {
    const { call, targets } = record;
    const { name } = partsOf(call.address);
    const { steps } = call.model;
    if (!this.#isAvailable(record, name, targets)) record.wasUnavailable = true;
    for (const step of steps) this.#isAvailable(record, step, this.#targetsOf(step));
    const givers = steps.length === 0 ? [name] : steps.slice(-1);
    for (const giver of givers) {
      for (const { view } of this.#library.servingOf(giver)) record.stamps.add(Number(view.config.stamp));
    }
  }

  #isAvailable(record: CallRecord, name: string, targets: readonly string[] | undefined): boolean {
    const isTarget = ({ view }: ServedModel): boolean => targets?.includes(view.version) ?? true;
    const available = this.#library.availableOf(name).filter(isTarget);
    for (const { view } of targets === undefined ? available.slice(0, 1) : available) {
      record.meant.add(`${name}:${view.version}`);
    }
    const served = this.#library.servingOf(name).map(({ view }) => `${name}:${view.version}`);
    const meant = [...record.meant].filter((one) => one.startsWith(`${name}:`));
    if (meant.length === 0 || meant.some((one) => !served.includes(one))) record.wasUnserved = true;
    return available.length > 0;
  }

  #targetsOf(address: string): readonly string[] | undefined {
    const { name, version, label } = partsOf(address);
    const traffic = this.#traffic.get(name);
    if (version !== '') return [version];
    if (label !== '') return [traffic?.labels.get(label) ?? ''];
    return traffic === undefined || traffic.split.length === 0 ? undefined : traffic.split;
  }
}

/** A step that was refused before it reached its model left the sequence as it was, which its caller cannot know. */
function noteRefusedStep({ sequence, index }: SimulatedStep, mayNotHaveReached: boolean): void {
  if (mayNotHaveReached) sequence.isUnsure = true;
  else sequence.brokenAt = Math.min(sequence.brokenAt, index);
}

/** How many models run a row one after the other. */
function hopsOf({ kind, steps }: WorldModel): number {
  return kind === 'ensemble' ? steps.length : 1;
}

function valuesOf(outputs: InferAnswer['outputs'], name: string): readonly number[] {
  const tensor = outputs.find((output) => output.name === name);
  claim(tensor !== undefined, `an answer has no output ${name}`);
  return int32Values(tensor.data);
}

function partsOf(address: string): { readonly name: string; readonly version: string; readonly label: string } {
  const [withoutLabel = '', label = ''] = address.split('@');
  const [name = '', version = ''] = withoutLabel.split(':');
  return { name, version, label };
}
