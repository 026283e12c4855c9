import type { EnsemblePlan } from '@millrace/core';

export interface EnsembleDefinition {
  readonly plan: EnsemblePlan;
  /** Requests in flight at once; Infinity: no limit other than those of the steps. */
  readonly inflightMax: number;
  /** Class names that clients see, by output: its own, and those of the models of its steps. */
  readonly labels: Map<string, readonly string[]>;
  /** Outputs whose labels are named in its own configuration. */
  readonly ownLabels: ReadonlySet<string>;
}
