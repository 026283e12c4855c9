/** The statistics of served versions, for edges. */

import { InferenceError } from '@millrace/protocol';
import type { Catalogue, ModelStatus } from '../catalogue/catalogue.ts';
import type { MemoryStatistics, ModelStatistics, Statistics } from '../management/statistics.ts';
import { ModelTally } from './model-tally.ts';

/** Keeps the totals of versions; undefined for an unknown version. */
export interface StatisticsCollector {
  statisticsOf(model: string, version: string): ModelStatistics | undefined;
}

/** A version and the memory of its workers; 0: unknown. */
export interface MeasuredVersion {
  readonly name: string;
  readonly version: string;
  readonly residentBytes: number;
}

/** For a version that is ready and had no request yet. */
const nothingYet: ModelStatistics = Object.freeze(new ModelTally(() => 0).statistics());

/** Resolves a name that may contain a version or a label. */
export type NameResolver = (name: string, version: string) => { readonly model: string; readonly version: string };

/** The statistics of the versions that the catalogue lists, from the totals of an observer. */
export function statisticsFrom(
  catalogue: Catalogue,
  keeper: StatisticsCollector,
  contexts: () => readonly MeasuredVersion[] = () => [],
  resolve: NameResolver = (model, version) => ({ model, version }),
): Statistics {
  return {
    of(name, versionBeside) {
      const { model, version } = resolve(name, versionBeside);
      const known = catalogue.statuses().filter((status) => model === '' || status.name === model);
      if (known.length === 0 && model !== '') {
        throw new InferenceError('invalid-request', `requested model '${model}' is not available`);
      }
      const ready = known.filter((status) => isServed(status) && (version === '' || status.version === version));
      if (ready.length === 0 && version !== '') {
        throw new InferenceError('invalid-request', `requested model '${model}' version ${version} is not available`);
      }
      const measured = new Map(contexts().map((one) => [`${one.name}:${one.version}`, one.residentBytes]));
      return ready.map((status) => {
        const counted = keeper.statisticsOf(status.name, status.version) ?? nothingYet;
        const bytes = measured.get(`${status.name}:${status.version}`) ?? 0;
        const memory: readonly MemoryStatistics[] = bytes === 0 ? [] : [{ type: 'CPU', id: 0, bytes }];
        return { name: status.name, version: status.version, ...counted, memory };
      });
    },
  };
}

/** An evicted version still counts as served: it is loaded again on demand. */
function isServed({ state }: ModelStatus): boolean {
  return state === 'ready' || state === 'evicted';
}
