import { join } from 'node:path';
import { resolveModelPolicy } from '@millrace/core';
import type { ModelVersionDefinition } from '../../../model/model-definition.ts';
import { Findings } from '../../config-text/findings.ts';
import { readGpuBatchSizes } from '../../gpu-batch-sizes.ts';
import { instanceCountOf } from '../../instance-groups.ts';
import type { ReadModelOptions } from '../../read-model-options.ts';
import { readWarmup } from '../../read-warmup.ts';
import { modelFilenameDefault } from '../../repository-layout.ts';
import { readSequencing, sequenceQueuePolicy } from '../../sequence-batching/read-sequencing.ts';
import { readStreamStates } from '../../stream-states.ts';
import type { ModelParts, VersionReading } from '../model-kind.ts';
import { readModelFile } from './model-file.ts';
import { readOnnxView } from './read-onnx-view.ts';

/** Reads a version of an ONNX model: its file, what clients see of it, and how its requests are queued and batched. */
export async function readOnnxVersion(
  parts: ModelParts,
  version: string,
  options: ReadModelOptions,
): Promise<VersionReading> {
  const { location, config, settings, groups, batching, provider } = parts;
  const filename = config.default_model_filename ?? modelFilenameDefault;
  const file = await readModelFile(location.isSingleFile ? location.path : join(location.path, version, filename));
  if ('problem' in file) {
    return { definition: undefined, problems: [{ source: file.path, message: file.problem }], warnings: [] };
  }
  const findings = location.hasConfig ? parts.findings.fork() : new Findings(file.path);
  const { view: plainView, verdict, sharing } = await readOnnxView(parts, version, file, options, findings);
  const streamStates = readStreamStates(config, plainView, findings);
  const view = streamStates.length === 0 ? plainView : { ...plainView, streamStates };
  const { rowsMax, shaping } = view;
  const sequencing = await readSequencing({
    config,
    graph: file.graph,
    view,
    instanceCount: instanceCountOf(groups),
    settings,
    modelFolder: location.path,
    findings,
  });
  // A worker is given all inputs, those of the server too.
  const { inputs } = sequencing?.engineView ?? view;
  if (shaping !== undefined && !shaping.engine.isBatched && (config.model_warmup ?? []).length > 0) {
    findings.problem(
      'model_warmup',
      'samples cannot be ragged, nor have batch inputs but BATCH_ITEM_SHAPE; remove them',
    );
  }
  const rowShapes = shaping?.generated ?? [];
  const warmupSource = { inputs, rowsMax: view.isBatched ? rowsMax : 0, folder: location.path, rowShapes };
  const warmup = await readWarmup(config, warmupSource, findings);
  const ofSequences = sequenceQueuePolicy(config, rowsMax, findings);
  const isBatched = view.isBatched && shaping?.engine.isBatched !== false;
  const { hasConvolutions } = file.graph;
  // Batches are padded with rows that belong to no request.
  const areRowsApart = sharing.sharesRuns || verdict.kind === 'independent';
  const signs = { config, view, isBatched, areRowsApart, hasConvolutions, provider };
  const gpuBatchSizes = readGpuBatchSizes(signs, findings);
  const { problems, warnings } = findings;
  if (findings.hasProblems) return { definition: undefined, problems, warnings };
  const definition: ModelVersionDefinition = {
    version,
    path: file.path,
    externalPaths: file.externalPaths,
    graph: file.graph,
    warmup,
    ...(gpuBatchSizes === undefined ? {} : { gpuBatchSizes }),
    ...(file.zipMaps.length === 0 ? {} : { cutsZipMaps: true }),
    view,
    policy: resolveModelPolicy({
      ...batching,
      weight: settings.weight,
      // Of a version that does not share runs every request counts as one row, and a batch is one request.
      rowsMax: sharing.sharesRuns ? rowsMax : 1,
      queueRequestsMax: settings.queueRequestsMax,
      queueBytesMax: settings.queueBytesMax,
      runMsMax: settings.runMsMax,
      ...ofSequences,
      ...(sharing.sharesRuns ? {} : { preferredRows: [], delayMs: 0 }),
      waitMsMax: settings.waitMsMax,
      latencyTargetMs: settings.latencyTargetMs,
      instancesInUseMax: parts.instancesInUseMax,
    }),
    runner: 'queue',
    ...(sequencing === undefined ? {} : { sequencing }),
  };
  return { definition, problems, warnings };
}
