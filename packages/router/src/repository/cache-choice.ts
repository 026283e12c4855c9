import type { CacheChoice } from '../model/model-definition.ts';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';

const cacheSharedParameter = 'millrace.cache_shared';

/** Reads whether results of the model are cached; undefined: they are not. */
export function readCacheChoice(config: ModelConfig, findings: Findings): CacheChoice | undefined {
  const shared = config.parameters?.[cacheSharedParameter]?.string_value;
  if (config.response_cache?.enable !== true) {
    if (shared !== undefined) {
      const path = `parameters[${JSON.stringify(cacheSharedParameter)}]`;
      findings.problem(path, 'has no meaning without response_cache { enable: true }; add that or remove this');
    }
    return undefined;
  }
  if (config.sequence_batching !== undefined) {
    findings.problem(
      'response_cache.enable',
      'results of a sequence depend on its earlier requests and cannot be cached; remove it, or sequence_batching',
    );
  }
  if (config.model_transaction_policy?.decoupled === true) {
    findings.problem('response_cache.enable', 'results of a decoupled model cannot be cached; set it to false');
  }
  return { isShared: shared === 'true' };
}
