import type { EnsembleDefinition } from './ensemble-definition.ts';

/** The kind of runner that a version needs, with its settings. The data plane has a runner for each. */
export type RunnerSpec =
  /** The queue of its workers, behind a cache or the order of sequences where the configuration asks for them. */
  | { readonly runner: 'queue'; readonly ensemble?: undefined }
  /** The models of its steps. */
  | { readonly runner: 'ensemble'; readonly ensemble: EnsembleDefinition };
