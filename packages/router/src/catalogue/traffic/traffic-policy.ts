import type { ShadowedVersion } from '../../data-plane/traffic/model-names.ts';

export type { ShadowedVersion };

/** How requests that name no version are spread, and what labels stand for. */
export interface TrafficPolicy {
  readonly labels: ReadonlyMap<string, string>;
  /** Shares of the requests that name neither version nor label; empty: the highest ready version gets all requests. */
  readonly split: readonly WeightedVersion[];
  /** Versions that get a copy of that part of the requests; their answers are only compared. */
  readonly shadows: readonly ShadowedVersion[];
  /** Rises with every change; 0: never changed. */
  readonly revision: number;
}

export interface WeightedVersion {
  readonly version: string;
  readonly weight: number;
}

/** What is absent stays as it is; all of it takes effect at once. */
export interface TrafficChange {
  /** A version for a label, or undefined to remove the label. */
  readonly labels?: ReadonlyMap<string, string | undefined>;
  readonly split?: readonly WeightedVersion[];
  readonly shadows?: readonly ShadowedVersion[];
}

/** Reads and changes the traffic of a model. */
export interface TrafficControl {
  traffic(model: string): TrafficPolicy;
  /** Throws `conflict` when `expectedRevision` is given and is not the present one. */
  changeTraffic(model: string, change: TrafficChange, expectedRevision?: number): Promise<TrafficPolicy>;
}
