/** Statistics about the work of served versions, for operators. */

/** How often something happened and how long it took in all. */
export interface Duration {
  readonly count: number;
  readonly ns: bigint;
}

/** Totals since the version was first observed. */
export interface ModelStatistics {
  /** Requests from admission to answer. */
  readonly answered: Duration;
  /** Those refused at once took no time. */
  readonly failed: Duration;
  /** Of answered requests, as the three below. */
  readonly queue: Duration;
  readonly computeInput: Duration;
  readonly computeInfer: Duration;
  readonly computeOutput: Duration;
  /** Requests answered without a run of their own: from the cache, or by the run of an identical one. */
  readonly cacheHit: Duration;
  /** Cache misses: requests that were run because no result was cached, and the time of the lookup. */
  readonly cacheMiss: Duration;
  readonly rowsRun: number;
  readonly batchesRun: number;
  /** By rows, ascending. */
  readonly batches: readonly BatchStatistics[];
  /** Milliseconds since the Unix epoch; 0: never. */
  readonly lastAnsweredAt: number;
}

/** The batches that had so many rows. */
export interface BatchStatistics {
  readonly rows: number;
  readonly computeInput: Duration;
  readonly computeInfer: Duration;
  readonly computeOutput: Duration;
}

export interface VersionStatistics extends ModelStatistics {
  readonly name: string;
  readonly version: string;
  /** What it holds, as measured; empty when that is not known. */
  readonly memory: readonly MemoryStatistics[];
}

export interface MemoryStatistics {
  readonly type: 'CPU' | 'GPU';
  readonly id: number;
  readonly bytes: number;
}

export interface Statistics {
  /**
   * Of every ready version of the model, or of the named one; of all models for an empty name. Throws `invalid-request`
   * for a model or version that does not exist, as Triton does for this call alone.
   */
  of(model: string, version: string): readonly VersionStatistics[];
}
