import { join, sep } from 'node:path';
import type { LoadSpec } from '@millrace/protocol';
import type { ServedModel } from '../../data-plane/served-model.ts';
import type { ModelDefinition, ModelVersionDefinition } from '../../model/model-definition.ts';

/** The threads of an instance whose configuration does not set them. */
export interface ThreadShare {
  readonly threads: number;
  /** Whether threads that wait keep their core busy. */
  readonly isSpinning: boolean;
}

/** The specification with which a worker loads one version of a model; undefined: its model has no engine. */
export function loadSpecOf(
  model: ServedModel,
  definition: ModelDefinition,
  version: ModelVersionDefinition,
  share: ThreadShare,
): LoadSpec | undefined {
  const { engine } = definition;
  if (engine === undefined) return undefined;
  const { name, inputs, outputs, isBatched } = model.engineView;
  return {
    model: model.handle,
    name,
    version: version.version,
    engine,
    path: version.path,
    ...folderOf(definition, version),
    inputs,
    outputs,
    isBatched,
    threads: definition.threads > 0 ? definition.threads : share.threads,
    isSpinning: definition.isSpinning || share.isSpinning,
    ...(version.gpuBatchSizes === undefined ? {} : { batchSizes: version.gpuBatchSizes }),
    ...version.concurrent,
    ...(version.cutsZipMaps === undefined ? {} : { cutsZipMaps: version.cutsZipMaps }),
    ...(version.warmup === undefined ? {} : { warmup: version.warmup }),
  };
}

/** A model that was given as a single file has no folder of its own. */
function folderOf(definition: ModelDefinition, { version, path }: ModelVersionDefinition): Pick<LoadSpec, 'folder'> {
  const folder = join(definition.path, version);
  return path.startsWith(`${folder}${sep}`) ? { folder } : {};
}
