/**
 * Labels, splits and shadows of every model, as stored in the metadata store. Changes are compare-and-set, and become known
 * here by watching the store, so several routers on one store agree.
 */
import { InferenceError } from '@millrace/protocol';
import type { MetadataChange, MetadataStore } from '@millrace/store';
import type { Catalogue } from '../catalogue.ts';
import { trafficAfter } from './traffic-change.ts';
import type { TrafficChange, TrafficControl, TrafficPolicy } from './traffic-policy.ts';
import { bytesFromTraffic, noTraffic, trafficFromBytes, trafficKey, trafficPrefix } from './traffic-record.ts';

export interface TrafficTableParts {
  readonly store: MetadataStore;
  readonly catalogue: Pick<Catalogue, 'statuses'>;
  /** Called with a record in the store that cannot be read: its model is served as if it had none. */
  readonly onUnreadable: (key: string) => void;
}

/** Attempts of one change while others change the same record in between. */
const attemptsMax = 16;

export class TrafficTable implements TrafficControl {
  readonly #parts: TrafficTableParts;
  readonly #policies = new Map<string, TrafficPolicy>();
  readonly #listeners = new Set<() => void>();
  #stop: () => void = () => {};

  private constructor(parts: TrafficTableParts) {
    this.#parts = parts;
  }

  static async open(parts: TrafficTableParts): Promise<TrafficTable> {
    const table = new TrafficTable(parts);
    table.#stop = await parts.store.watch(trafficPrefix, (change) => table.#take(change));
    return table;
  }

  /** Undefined for a model whose traffic was never changed. */
  take(model: string): TrafficPolicy | undefined {
    return this.#policies.get(model);
  }

  traffic(model: string): TrafficPolicy {
    this.#mustKnow(model);
    return this.take(model) ?? noTraffic;
  }

  async changeTraffic(model: string, change: TrafficChange, expectedRevision?: number): Promise<TrafficPolicy> {
    this.#mustKnow(model);
    const { store } = this.#parts;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      // The watched state may lag behind the store.
      const entry = await this.#ask(() => store.get(trafficKey(model)));
      const present = (entry && trafficFromBytes(entry.value, entry.revision)) ?? noTraffic;
      const revision = entry?.revision ?? 0;
      if (expectedRevision !== undefined && expectedRevision !== revision) throw conflict(model, revision);
      const after = trafficAfter(model, present, change, (version) => this.#versionProblem(model, version));
      const bytes = bytesFromTraffic({ ...after, revision: 0 });
      const put = await this.#ask(() => store.put(trafficKey(model), bytes, { expected: entry?.revision ?? 'absent' }));
      if (put !== undefined) return { ...after, revision: put };
    }
    throw conflict(model, this.traffic(model).revision);
  }

  labelsOf(model: string, version: string): readonly string[] {
    const labels = [...(this.take(model)?.labels ?? [])];
    return labels.flatMap(([label, target]) => (target === version ? [label] : [])).sort();
  }

  /** Calls back after every change; returns a function that stops it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#stop();
  }

  #take(change: MetadataChange): void {
    const key = change.kind === 'put' ? change.entry.key : change.key;
    const policy = change.kind === 'put' ? trafficFromBytes(change.entry.value, change.entry.revision) : undefined;
    if (policy === undefined) this.#policies.delete(key.slice(trafficPrefix.length));
    else this.#policies.set(key.slice(trafficPrefix.length), policy);
    if (change.kind === 'put' && policy === undefined) this.#parts.onUnreadable(key);
    for (const listener of this.#listeners) listener();
  }

  /** Traffic outlives the model: that of a model that is not loaded can still be read and removed. */
  #mustKnow(model: string): void {
    if (this.#policies.has(model)) return;
    if (this.#parts.catalogue.statuses().some(({ name }) => name === model)) return;
    throw new InferenceError('unknown-model', `Request for unknown model: '${model}' is not found`);
  }

  #versionProblem(model: string, version: string): string | undefined {
    const known = this.#parts.catalogue.statuses().filter(({ name }) => name === model);
    const status = known.find((one) => one.version === version);
    if (status === undefined) {
      const versions = known.flatMap((one) => (one.version === '' ? [] : [one.version])).join(', ');
      return `there is no such version; there are ${versions === '' ? 'none' : versions}`;
    }
    return status.state === 'failed' ? `it cannot be served: ${status.reason}` : undefined;
  }

  async #ask<T>(request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new InferenceError('internal', `the metadata store failed: ${reason}`, { cause: error });
    }
  }
}

function conflict(model: string, revision: number): InferenceError {
  const message = `the traffic of '${model}' was changed by someone else and has revision ${revision} now`;
  return new InferenceError('conflict', `${message}; read it again and repeat the change`);
}
