/**
 * Judges what callers see: every call is answered exactly once, by the version that its name meant at that moment, or
 * refused by name, and never refused because the server evicted or replaced a version.
 */
import type { RequestId } from '@millrace/core';
import { type ErrorCode, errorCatalogue } from '@millrace/protocol';
import type { ServedModel } from '@millrace/router/catalogue';
import type { SimulatedCall } from './front.ts';
import type { LibraryReferee } from './library-referee.ts';
import { claim, type Truth } from './truth.ts';

interface CallRecord {
  readonly call: SimulatedCall;
  model: ServedModel | undefined;
}

/** The traffic of one model as operators want it. */
export interface TrafficRecord {
  readonly labels: ReadonlyMap<string, string>;
  readonly split: readonly string[];
}

export class CallReferee {
  readonly #library: LibraryReferee;
  readonly #truth: Truth;
  readonly #open = new Map<RequestId, CallRecord>();
  readonly #traffic = new Map<string, TrafficRecord>();

  constructor(library: LibraryReferee, truth: Truth) {
    this.#library = library;
    this.#truth = truth;
  }

  noteTraffic(model: string, record: TrafficRecord): void {
    this.#traffic.set(model, record);
  }

  begun(call: SimulatedCall): void {
    this.#open.set(call.request, { call, model: undefined });
  }

  /** The address was understood as this model version. */
  claimMeant(address: string, { view }: ServedModel): void {
    const { name, version, label } = partsOf(address);
    claim(view.name === name, `${address} was taken for ${view.name}`);
    const traffic = this.#traffic.get(name);
    if (version !== '') claim(view.version === version, `${address} was taken for version ${view.version}`);
    else if (label !== '') {
      const target = traffic?.labels.get(label);
      claim(view.version === target, `${address} stands for version ${target}, and was taken for ${view.version}`);
    } else if (traffic !== undefined && traffic.split.length > 0) {
      claim(
        traffic.split.includes(view.version),
        `${address} was taken for version ${view.version}, which is not of its split`,
      );
    } else {
      const [highest = '0'] = this.#library.availableOf(name);
      const isHighest = Number(view.version) >= Number(highest);
      claim(isHighest, `${address} was taken for version ${view.version}, not for ${highest}`);
    }
  }

  /** The registry refused it: nothing of what it asks for can be had. */
  claimUnavailable(address: string, code: ErrorCode): void {
    const { name, version, label } = partsOf(address);
    const traffic = this.#traffic.get(name);
    let available = this.#library.availableOf(name);
    if (version !== '') available = available.filter((one) => one === version);
    else if (label !== '') available = available.filter((one) => one === traffic?.labels.get(label));
    else if (traffic !== undefined && traffic.split.length > 0) {
      available = available.filter((one) => traffic.split.includes(one));
    }
    claim(available.length === 0, `${address} is refused as ${code}, but version ${available[0]} is there`);
    claim(code === 'unknown-model' || code === 'model-not-ready', `${address} is refused as ${code}`);
  }

  sent(request: RequestId, model: ServedModel): void {
    const record = this.#open.get(request);
    claim(record !== undefined && record.model === undefined, `request ${request} is sent twice, or has ended`);
    this.#library.claimServing(model);
    record.model = model;
  }

  ended(request: RequestId, code: ErrorCode | undefined): void {
    const record = this.#open.get(request);
    claim(record !== undefined, `request ${request} ended twice`);
    this.#open.delete(request);
    if (code === undefined) {
      claim(record.model !== undefined, `request ${request} was answered by nobody`);
      return;
    }
    claim(code in errorCatalogue, `request ${request} was refused as ${code}, which is not an error of the catalogue`);
    const { model } = record;
    if (model === undefined) return;
    // An accepted request is finished even if its version is replaced or unloaded; only dead workers are an excuse.
    const isExcused = code !== 'model-not-ready' || this.#library.wasUnservable(model.key);
    claim(isExcused, `request ${request} was let in by ${model.key} and lost with it`);
    if (model.policy.isConcurrent) this.#truth.claimJust(request, code);
  }

  atEnd(): void {
    claim(this.#open.size === 0, `calls without an end: ${[...this.#open.keys()].join(' ')}`);
  }
}

function partsOf(address: string): { readonly name: string; readonly version: string; readonly label: string } {
  const [withoutLabel = '', label = ''] = address.split('@');
  const [name = '', version = ''] = withoutLabel.split(':');
  return { name, version, label };
}
