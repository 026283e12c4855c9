/**
 * Judges what callers see: every call is answered exactly once, with its own rows, by a version that its name meant and
 * that was served while it was open; or refused for a reason that the world gave. It knows what callers sent and got, what
 * operators asked for, and what of a model is served.
 */
import { type ErrorCode, errorCatalogue, type InferenceError } from '@millrace/protocol';
import type { InferAnswer } from '@millrace/router';
import type { ServedModel } from '@millrace/router/catalogue';
import { hopValue, int32Values, rowValue } from '../lane/rows.ts';
import type { SimulatedModel } from '../repository/layout.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import { claim } from '../world/truth.ts';
import type { LibraryReferee } from './library-referee.ts';

/** What a caller asks for: `model`, `model:version` or `model@label`. */
export interface SimulatedCall {
  readonly id: number;
  readonly model: SimulatedModel;
  readonly address: string;
  readonly question: number;
  readonly rows: number;
  readonly deadlineAt: number;
}

interface CallRecord {
  readonly call: SimulatedCall;
  readonly startedAt: number;
  /** The versions that the address stands for; undefined: the highest that there is. */
  readonly targets: readonly string[] | undefined;
  /** Versions that the address meant at some time since it began, and the stamps of those that were served. */
  readonly meant: Set<string>;
  readonly stamps: Set<number>;
  /** At some time nothing of what it asks for could be had; a version that it meant was not served. */
  wasUnavailable: boolean;
  wasUnserved: boolean;
  cancelled: { readonly at: number; readonly reason: ErrorCode } | undefined;
}

/** The traffic of one model as operators want it. */
export interface WantedTraffic {
  readonly labels: ReadonlyMap<string, string>;
  readonly split: readonly string[];
}

/** Timers fire up to a millisecond early. */
const timerMs = 1;
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
    const { call, meant, stamps } = this.#end(id);
    const { truth } = this.#world;
    const nature = truth.natureOf(call.question);
    claim(nature === 'plain', `call ${id} is answered, but no worker can answer it: it is ${nature}`);
    claim(answer.model === call.model.name, `call ${id} for ${call.address} is answered by ${answer.model}`);
    claim(
      meant.has(answer.version),
      `call ${id} for ${call.address} is answered by version ${answer.version}, and meant ${[...meant]}`,
    );
    const stamp = this.claimRows(call, answer);
    claim(stamps.has(stamp), `call ${id} is answered by file ${stamp}; served since it began: ${[...stamps]}`);
  }

  /** The answer holds the rows of the call and no others; also later, until it is released. Returns who ran them. */
  claimRows({ id, question, rows }: SimulatedCall, { outputs }: InferAnswer): number {
    const valuesOf = (name: string): readonly number[] => {
      const tensor = outputs.find((output) => output.name === name);
      claim(tensor !== undefined, `the answer to call ${id} has no output ${name}`);
      claim(`${tensor.shape}` === `${rows},1`, `output ${name} of call ${id} has shape ${tensor.shape}`);
      return int32Values(tensor.data);
    };
    const expected = Array.from({ length: rows }, (_, row) => rowValue(question, row) + hopValue);
    claim(`${valuesOf('y')}` === `${expected}`, `call ${id} got other rows than its own: ${valuesOf('y')}`);
    const [stamp = 0, ...others] = valuesOf('by');
    claim(
      others.every((other) => other === stamp),
      `the rows of call ${id} were run by different files`,
    );
    return stamp;
  }

  /** Calls that were accepted by that revision may be refused, also where another one serves by now. */
  noteLost(model: string): void {
    for (const record of this.#open.values()) if (record.call.model.name === model) record.wasUnserved = true;
  }

  refused(id: number, { code, message }: InferenceError): void {
    const { nowMs, truth, isEnding } = this.#world;
    const record = this.#end(id);
    const { call, cancelled, wasUnavailable, wasUnserved } = record;
    const said = `call ${id} for ${call.address} is refused as ${code} (${message})`;
    claim(code in errorCatalogue && code !== 'internal', `${said}, which is no reason`);
    if (code === 'unknown-model') claim(wasUnavailable, `${said}, but was to be had all the time`);
    if (code === 'model-not-ready') claim(wasUnserved, `${said}, but was served all the time`);
    if (code === 'cancelled') claim(cancelled?.reason === code, `${said}, but nobody cancelled it`);
    if (code === 'draining') claim(isEnding, `${said}, but nobody ended the router`);
    if (code === 'invalid-request') claim(call.rows > rowsMaxMin, `${said}, but it is valid`);
    if (code === 'deadline-exceeded') {
      claim(cancelled?.reason === code || nowMs >= call.deadlineAt - timerMs, `${said}, but it had time left`);
    }
    truth.claimJust(call.question, code, call.model.isConcurrent);
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
    claim(nowMs <= dueAt + timerMs, `call ${id} ended at ${nowMs}, after its deadline at ${call.deadlineAt}`);
    claim(
      cancelled === undefined || nowMs === cancelled.at,
      `call ${id} was cancelled at ${cancelled?.at}, and goes on`,
    );
    return record;
  }

  #review(record: CallRecord): void {
    const { call, targets, meant, stamps } = record;
    const { name } = partsOf(call.address);
    const isMeant = ({ view }: ServedModel): boolean => targets?.includes(view.version) ?? true;
    const available = this.#library.availableOf(name).filter(isMeant);
    const serving = this.#library.servingOf(name).filter(isMeant);
    for (const { view } of targets === undefined ? available.slice(0, 1) : available) meant.add(view.version);
    if (available.length === 0) record.wasUnavailable = true;
    const served = serving.map(({ view }) => view.version);
    if (served.length === 0 || [...meant].some((version) => !served.includes(version))) record.wasUnserved = true;
    for (const { view } of serving) stamps.add(Number(view.config.stamp));
  }

  #targetsOf(address: string): readonly string[] | undefined {
    const { name, version, label } = partsOf(address);
    const traffic = this.#traffic.get(name);
    if (version !== '') return [version];
    if (label !== '') return [traffic?.labels.get(label) ?? ''];
    return traffic === undefined || traffic.split.length === 0 ? undefined : traffic.split;
  }
}

function partsOf(address: string): { readonly name: string; readonly version: string; readonly label: string } {
  const [withoutLabel = '', label = ''] = address.split('@');
  const [name = '', version = ''] = withoutLabel.split(':');
  return { name, version, label };
}
