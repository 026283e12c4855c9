import type { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { createPipelineDescriber, type DescribePipeline, fingerprintOfFolder } from '@millrace/router/internal';
import { programs } from './programs.ts';
import type { ReadingCache } from './reading-cache.ts';

/** Asks pipelines what they declare, in processes of their own. */
export function pipelineDescriber(start?: typeof spawn, cache?: ReadingCache): DescribePipeline {
  const describe = createPipelineDescriber({ programPath: programs.pipelineDescriber, ...(start && { spawn: start }) });
  return cache === undefined ? describe : keptDescriptions(describe, cache);
}

/**
 * Asks once for each state of the model's folder, beyond this process. A module that imports files from elsewhere may declare
 * something else by now: its worker, which loads it anew, refuses what does not fit.
 */
export function keptDescriptions(
  describe: DescribePipeline,
  cache: Pick<ReadingCache, 'get' | 'put'>,
): DescribePipeline {
  return async (path) => {
    // Modules of a version may import those beside it.
    const folder = dirname(dirname(path));
    const fingerprint = await fingerprintOfFolder(folder);
    const key = `pipeline ${path}|${fingerprint}`;
    const kept = cache.get(key) as Awaited<ReturnType<DescribePipeline>> | undefined;
    if (kept !== undefined) return kept;
    const described = await describe(path);
    // A problem may pass; and files that change while they are read have been read at no certain time.
    if ('description' in described && (await fingerprintOfFolder(folder)) === fingerprint) cache.put(key, described);
    return described;
  };
}
