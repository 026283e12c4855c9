/**
 * The catalogue as requests name it: a version, a label or neither, resolved to exactly one version. A
 * resolution is made at one moment from one state of the traffic, so it sees a label before or after it was moved and
 * never in between.
 */
import { VersionShares } from '@millrace/core';
import { InferenceError } from '@millrace/protocol';
import type { ModelNames, ResolvedModel, ShadowedVersion } from '../../data-plane/traffic/model-names.ts';
import type { ModelView } from '../../model/model-view.ts';
import type { Catalogue, ModelStatus } from '../catalogue.ts';
import { addressFrom, isPlainName, type ModelAddress } from './model-address.ts';
import type { TrafficPolicy, WeightedVersion } from './traffic-policy.ts';
import type { TrafficTable } from './traffic-table.ts';

export interface TrafficCatalogueParts {
  readonly catalogue: Catalogue & { onChange(listener: () => void): () => void };
  readonly traffic: Pick<TrafficTable, 'take' | 'onChange'>;
}

const noShadows: readonly ShadowedVersion[] = [];

export class TrafficCatalogue implements Catalogue, ModelNames {
  readonly #catalogue: TrafficCatalogueParts['catalogue'];
  readonly #traffic: TrafficCatalogueParts['traffic'];
  /** Of models with a split, made when they are first asked for after a change. */
  readonly #shares = new Map<string, VersionShares>();
  readonly #stop: (() => void)[];

  constructor({ catalogue, traffic }: TrafficCatalogueParts) {
    this.#catalogue = catalogue;
    this.#traffic = traffic;
    const forget = (): void => this.#shares.clear();
    this.#stop = [catalogue.onChange(forget), traffic.onChange(forget)];
  }

  isResolvable(name: string): boolean {
    return this.#traffic.take(name) !== undefined || !isPlainName(name);
  }

  resolve(name: string, version: string, draw: () => number): ResolvedModel {
    const address = addressFrom(name, version);
    const policy = this.#traffic.take(address.model);
    if (address.label !== '') {
      const labelled = this.#labelled(address, policy);
      this.#mustBeListed(address.model, labelled, `its label '${address.label}' stands for version ${labelled}`);
      return { model: address.model, version: labelled };
    }
    if (address.version !== '' || policy === undefined || policy.split.length === 0) return address;
    const drawn = this.#sharesOf(address.model, policy).draw(draw());
    return { model: address.model, version: drawn ?? this.#firstOf(address.model, policy) };
  }

  shadowsOf(model: string): readonly ShadowedVersion[] {
    return this.#traffic.take(model)?.shadows ?? noShadows;
  }

  /** Parses a name without applying the split: no version where it names none. Throws as `resolve` does. */
  named(name: string, version: string): ResolvedModel {
    return isPlainName(name) ? { model: name, version } : this.resolve(name, version, () => 0);
  }

  /** Without a version, where there is a split: the version that most requests go to. */
  mustFind(name: string, version: string): ModelView {
    if (!this.isResolvable(name)) return this.#catalogue.mustFind(name, version);
    const { model, version: resolved } = this.#resolveToLargest(name, version);
    return this.#catalogue.mustFind(model, resolved);
  }

  /** For a name with a version or a label, that version if it is ready. */
  readyVersions(name: string): readonly string[] {
    if (isPlainName(name)) return this.#catalogue.readyVersions(name);
    const { model, version } = this.#resolveToLargest(name, '');
    return this.#catalogue.readyVersions(model).filter((ready) => ready === version);
  }

  statuses(): readonly ModelStatus[] {
    return this.#catalogue.statuses();
  }

  close(): void {
    for (const stop of this.#stop) stop();
  }

  #resolveToLargest(name: string, version: string): ResolvedModel {
    const address = addressFrom(name, version);
    const policy = this.#traffic.take(address.model);
    const isSplit = address.label === '' && address.version === '' && policy !== undefined && policy.split.length > 0;
    if (!isSplit) return this.resolve(name, version, () => 0);
    return {
      model: address.model,
      version: this.#sharesOf(address.model, policy).largest ?? this.#firstOf(address.model, policy),
    };
  }

  #labelled({ model, version, label }: ModelAddress, policy: TrafficPolicy | undefined): string {
    const target = policy?.labels.get(label);
    if (target === undefined) {
      // If the model does not exist, the error says that instead.
      this.#mustExist(model);
      const labels = [...(policy?.labels.keys() ?? [])].sort();
      const known = labels.length === 0 ? 'it has none' : `it has ${labels.map((one) => `'${one}'`).join(', ')}`;
      throw new InferenceError('unknown-model', `Request for unknown label '${label}' of model '${model}'; ${known}`);
    }
    if (version === '' || version === target) return target;
    const both = `label '${label}' stands for version ${target}, and version ${version} is named beside it`;
    throw new InferenceError('invalid-request', `the request names two versions of '${model}': ${both}`);
  }

  /** Where no version of a split is ready: others are not used, so the request is refused with the reason of this one. */
  #firstOf(model: string, { split }: TrafficPolicy): string {
    const { version } = split[0] as WeightedVersion;
    this.#mustBeListed(model, version, `no version of its split is ready, beginning with version ${version}`);
    return version;
  }

  /** A version in labels or a split may be unloaded. The caller did not name it, so the error is not `unknown-model`. */
  #mustBeListed(model: string, version: string, what: string): void {
    try {
      this.#catalogue.mustFind(model, version);
    } catch (error) {
      if (!(error instanceof InferenceError) || error.code !== 'unknown-model') return;
      this.#mustExist(model);
      const advice = 'load that version, or change the traffic of the model';
      throw new InferenceError(
        'model-not-ready',
        `Request for model '${model}' cannot be served now: ${what}, which is not loaded; ${advice}`,
      );
    }
  }

  #mustExist(model: string): void {
    if (this.#catalogue.statuses().some(({ name }) => name === model)) return;
    throw new InferenceError('unknown-model', `Request for unknown model: '${model}' is not found`);
  }

  #sharesOf(model: string, { split }: TrafficPolicy): VersionShares {
    let shares = this.#shares.get(model);
    if (shares === undefined) {
      const ready = this.#catalogue.readyVersions(model);
      shares = VersionShares.from(split, (version) => ready.includes(version));
      this.#shares.set(model, shares);
    }
    return shares;
  }
}
