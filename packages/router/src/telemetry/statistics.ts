/** What edges may tell of the work that served versions have done. */

import { InferenceError } from '@millrace/protocol';
import type { Catalogue, ModelStatus } from '../catalogue/catalogue.ts';
import type { MemoryStatistics, ModelStatistics, Statistics } from '../management/statistics.ts';
import { ModelTally } from './model-tally.ts';

/** Whoever counts: undefined for a version it has not heard of. */
export interface StatisticsKeeper {
  statisticsOf(model: string, version: string): ModelStatistics | undefined;
}

/** A version and the memory of its workers; 0: not known. */
export interface MeasuredVersion {
  readonly name: string;
  readonly version: string;
  readonly residentBytes: number;
}

/** Of a version that is ready and has not been asked anything yet. */
const nothingYet: ModelStatistics = Object.freeze(new ModelTally(() => 0).statistics());

/** What is meant by a name with a version or a label in it. */
export type NameResolver = (name: string, version: string) => { readonly model: string; readonly version: string };

/** The statistics of what the catalogue lists, from what an observer counted. */
export function statisticsFrom(
  catalogue: Catalogue,
  keeper: StatisticsKeeper,
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

/** One that is out of memory for the time being comes back when it is asked. */
function isServed({ state }: ModelStatus): boolean {
  return state === 'ready' || state === 'evicted';
}
