import type { EnsemblePlan } from '@millrace/core';

export interface EnsembleDefinition {
  readonly plan: EnsemblePlan;
  /** Requests under way at once; Infinity: as many as the steps take. */
  readonly inflightMax: number;
  /** What clients see, by output: its own, and those that come with the models of its steps. */
  readonly labels: Map<string, readonly string[]>;
  /** Outputs whose labels its configuration names itself. */
  readonly ownLabels: ReadonlySet<string>;
}
