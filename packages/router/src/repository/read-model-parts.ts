import { noGpuSupport } from '@millrace/protocol';
import { readGpuProvider } from './accelerators.ts';
import { checkHead } from './check-head.ts';
import type { ReadModelConfig } from './config-text/read-model-config.ts';
import { readDynamicBatching } from './dynamic-batching.ts';
import { instanceCountOf, readInstanceGroups } from './instance-groups.ts';
import { refuseForeignParameters } from './kinds/foreign-parameters.ts';
import type { ModelKind, ModelParts } from './kinds/model-kind.ts';
import { readModelSettings } from './model-parameters.ts';
import type { ReadModelOptions } from './read-model-options.ts';
import type { ModelLocation } from './repository-layout.ts';
import { checkUnservedFields } from './unserved-fields.ts';

/** Reads what the versions of a model have in common: the settings that do not depend on the files of a version. */
export function readModelParts(
  kind: ModelKind,
  location: ModelLocation,
  { config, findings }: ReadModelConfig,
  options: ReadModelOptions,
): ModelParts {
  checkHead(config, location, findings);
  kind.checkHead(config, findings);
  refuseForeignParameters(kind, config, findings);
  checkUnservedFields(config, findings);
  const settings = readModelSettings(config, location.name, options.defaults, findings);
  const batching = readDynamicBatching(config, findings);
  const gpu = kind.instances === 'on-cpu' ? noGpuSupport : options.gpu;
  const groups = kind.instances === 'none' ? [] : readInstanceGroups(config, location.name, gpu, findings);
  const provider = readGpuProvider(config, gpu, findings);
  const instancesInUseMax = settings.warmSpares === 0 ? Number.POSITIVE_INFINITY : instanceCountOf(groups);
  return { location, config, settings, groups, instancesInUseMax, batching, provider, findings };
}
