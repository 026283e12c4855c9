/** What edges may tell of the work that served versions have done. */
import { InferenceError } from '@millrace/protocol';
import type { Catalogue } from '../registry/catalogue.ts';
import { type ModelStatistics, ModelTally } from './model-tally.ts';

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
   * for a model or version that is not there, as Triton does for this call alone.
   */
  of(model: string, version: string): readonly VersionStatistics[];
}

/** Whoever counts: undefined for a version it has not heard of. */
export interface StatisticsKeeper {
  statisticsOf(model: string, version: string): ModelStatistics | undefined;
}

/** Of a version that is ready and has not been asked anything yet. */
const nothingYet: ModelStatistics = Object.freeze(new ModelTally(() => 0).statistics());

/** The statistics of what the catalogue lists, from what an observer counted. */
export function statisticsFrom(
  catalogue: Catalogue,
  keeper: StatisticsKeeper,
  memoryOf: (model: string, version: string) => readonly MemoryStatistics[] = () => [],
): Statistics {
  return {
    of(model, version) {
      const known = catalogue.statuses().filter(({ name }) => model === '' || name === model);
      if (known.length === 0 && model !== '') {
        throw new InferenceError('invalid-request', `requested model '${model}' is not available`);
      }
      const ready = known.filter(
        (status) => status.state === 'ready' && (version === '' || status.version === version),
      );
      if (ready.length === 0 && version !== '') {
        throw new InferenceError('invalid-request', `requested model '${model}' version ${version} is not available`);
      }
      return ready.map((status) => {
        const counted = keeper.statisticsOf(status.name, status.version) ?? nothingYet;
        const { name, version: own } = status;
        return { name, version: own, ...counted, memory: memoryOf(name, own) };
      });
    },
  };
}
