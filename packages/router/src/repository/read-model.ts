import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveModelPolicy } from '@millrace/core';
import { type AnalyseRows, analyseRowsOfFile, type RowVerdict } from '@millrace/onnx';
import {
  type ConfigProblem,
  formatConfigProblem,
  type GpuProvider,
  type GpuSupport,
  noGpuSupport,
} from '@millrace/protocol';
import type { InstanceGroup } from '../model/instance-group.ts';
import { instancePlacementsFrom } from '../model/instance-placements.ts';
import type { ModelFailure, ModelReading, ModelVersionDefinition } from '../model/model-definition.ts';
import type { ModelView } from '../model/model-view.ts';
import { compareVersions } from '../model/version-name.ts';
import { readGpuProvider } from './accelerators.ts';
import { readShaping, unraggedGraphOf } from './batch-shaping/read-shaping.ts';
import { chooseBatching } from './batching-choice.ts';
import { readCacheChoice } from './cache-choice.ts';
import { backendName, completeConfig, modelFilenameDefault, platformName } from './complete-config.ts';
import { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';
import {
  configBytesMax,
  jsonFromModelConfig,
  type ReadModelConfig,
  readModelConfig,
  readModelConfigJson,
} from './config-text/read-model-config.ts';
import { type BatchingPolicy, readDynamicBatching } from './dynamic-batching.ts';
import {
  checkEnsembleHead,
  ensemblePlatformName,
  isEnsembleConfig,
  readEnsembleVersion,
} from './ensemble/read-ensemble.ts';
import { wordsFromFileError } from './file-system-words.ts';
import { readGpuBatchSizes } from './gpu-batch-sizes.ts';
import { readInstanceGroups } from './instance-groups.ts';
import { readAllLabels, staysInside } from './label-file.ts';
import { readModelFile } from './model-file.ts';
import { type ModelDefaults, type ModelSettings, readModelSettings } from './model-parameters.ts';
import type { DescribePipeline } from './pipeline/describe-pipeline.ts';
import {
  checkPipelineHead,
  isPipelineModel,
  pipelineBackendName,
  pipelinePlatformName,
  readPipelineVersion,
  refuseConcurrency,
} from './pipeline/read-pipeline.ts';
import { readWarmup } from './read-warmup.ts';
import { configFilename, type ModelLocation } from './repository-layout.ts';
import { clientGraphOf, readSequencing, sequenceQueuePolicy } from './sequence-batching/read-sequencing.ts';
import { sharedSizesOf } from './shared-sizes.ts';
import { checkUnservedFields } from './unserved-fields.ts';
import { chooseVersions } from './version-policy.ts';
import { withZipMapLabels } from './zip-maps.ts';

export interface ReadModelOptions {
  /** Without a GPU, a model that insists on one is a failure. */
  readonly gpu: GpuSupport;
  readonly defaults: ModelDefaults;
  /** Asks a pipeline what it declares; without it, all must stand in its configuration. */
  readonly describePipeline?: DescribePipeline;
  /** Whether requests may share the runs of a graph; without it, found out on the calling thread. */
  readonly analyseRows?: AnalyseRows;
  /** A configuration that lets requests share runs of a graph whose rows depend on each other is a failure. */
  readonly isBatchingStrict?: boolean;
}

/** Reads one model: its configuration, the versions its policy chooses, their graphs, labels and weights' files. */
export async function readModel(place: ModelLocation, options: ReadModelOptions): Promise<ModelReading> {
  const { config, findings } = await readConfig(place);
  const isEnsemble = isEnsembleConfig(config);
  const isPipeline = !isEnsemble && (await isPipelineModel(config, place));
  checkHead(config, place, findings);
  if (isPipeline) checkPipelineHead(config, findings);
  else refuseConcurrency(config, findings);
  if (isEnsemble) checkEnsembleHead(config, findings);
  checkUnservedFields(config, findings);
  const settings = readModelSettings(config, place.name, options.defaults, findings);
  const batching = readDynamicBatching(config, findings);
  // User code runs on the CPU, whatever the models that it calls run on.
  const gpu = isPipeline ? noGpuSupport : options.gpu;
  const groups = isEnsemble ? [] : readInstanceGroups(config, place.name, gpu, findings);
  const provider = readGpuProvider(config, gpu, findings);
  const placements = instancePlacementsFrom(groups, provider);
  const cache = readCacheChoice(config, findings);
  // A folder that would be empty is hard to keep in version control, so that an ensemble needs none.
  const present = isEnsemble && place.versions.length === 0 ? ['1'] : place.versions;
  const { versions, missing } = chooseVersions(config, present, findings);
  noteMissingVersions(place, versions, missing, findings);
  if (findings.hasProblems) return failedModel(place.name, findings);

  const failures: ModelFailure[] = [];
  const warnings = new Map(findings.warnings.map((warning) => [formatConfigProblem(warning), warning]));
  const served: ModelVersionDefinition[] = [];
  for (const version of versions) {
    const parts = { place, config, settings, groups, batching, provider, findings };
    let read: VersionReading;
    if (isEnsemble) read = await readEnsembleVersion(parts, version);
    else if (isPipeline) read = await readPipelineVersion(parts, version, options.describePipeline);
    else read = await readVersion(parts, version, options);
    // Versions that share a configuration mostly share its warnings.
    for (const warning of read.warnings) warnings.set(formatConfigProblem(warning), warning);
    if (read.definition !== undefined) served.push(read.definition);
    else failures.push({ name: place.name, version, problems: read.problems });
  }
  if (served.length === 0) return { definition: undefined, failures, warnings: [...warnings.values()] };
  const definition = {
    name: place.name,
    path: place.path,
    versions: served,
    lane: isPipeline ? ('pipeline' as const) : settings.lane,
    workerGroup: settings.workerGroup,
    isGroupShared: settings.isGroupShared,
    instanceGroups: groups,
    placements,
    instanceCount: placements.length,
    threads: settings.threads,
    isSpinning: settings.isSpinning,
    cache,
  };
  return { definition, failures, warnings: [...warnings.values()] };
}

/** The configuration of a model: what came with its load, else its file, else nothing. */
export async function readConfig(place: ModelLocation): Promise<ReadModelConfig> {
  const path = join(place.path, configFilename);
  if (place.configText !== undefined) return readModelConfigJson(place.configText, `config of ${place.name}`);
  if (!place.hasConfig) return { config: {}, findings: new Findings(place.path) };
  try {
    const { size } = await stat(path);
    // A file that is far too large is refused by its size, before it is in memory.
    if (size > configBytesMax) return readModelConfig(new Uint8Array(configBytesMax + 1), path);
    return readModelConfig(await readFile(path), path);
  } catch (error) {
    const findings = new Findings(path);
    findings.problem('', wordsFromFileError(error));
    return { config: {}, findings };
  }
}

const platforms: readonly string[] = [platformName, ensemblePlatformName, pipelinePlatformName];
const backends: readonly string[] = [backendName, pipelineBackendName];

function listOf(words: readonly string[]): string {
  return `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function checkHead(config: ModelConfig, place: ModelLocation, findings: Findings): void {
  const { name = '', platform = '', backend = '' } = config;
  if (name !== '' && name !== place.name) {
    findings.problem(
      'name',
      `is ${JSON.stringify(name)}, but the folder is ${JSON.stringify(place.name)}; make them equal`,
    );
  }
  if (platform !== '' && !platforms.includes(platform)) {
    findings.problem('platform', `${JSON.stringify(platform)} is not supported yet; only ${listOf(platforms)} are`);
  }
  if (backend !== '' && !backends.includes(backend)) {
    findings.problem('backend', `${JSON.stringify(backend)} is not supported yet; only ${listOf(backends)} are`);
  }
  if (config.default_model_filename !== undefined && !staysInside(config.default_model_filename)) {
    findings.problem('default_model_filename', 'must be the name of a file inside the version folder');
  }
  if (place.name === 'stats') {
    findings.warning('name', 'the path /v2/models/stats means the statistics of all models; rename this one');
  }
}

/** What the versions of a model have in common. */
export interface ModelParts {
  readonly place: ModelLocation;
  readonly config: ModelConfig;
  readonly settings: ModelSettings;
  readonly groups: readonly InstanceGroup[];
  readonly batching: BatchingPolicy;
  /** What drives it where it runs on GPUs. */
  readonly provider: GpuProvider;
  readonly findings: Findings;
}

export interface VersionReading {
  readonly definition: ModelVersionDefinition | undefined;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

const raggedVerdict: RowVerdict = {
  kind: 'unknown',
  node: '',
  reason: 'the configuration has ragged inputs or batch inputs, which the analysis does not cover',
};

async function readVersion(parts: ModelParts, version: string, options: ReadModelOptions): Promise<VersionReading> {
  const { place, config, settings, groups, batching, provider } = parts;
  const filename = config.default_model_filename ?? modelFilenameDefault;
  const file = await readModelFile(place.isSingleFile ? place.path : join(place.path, version, filename));
  if ('problem' in file) {
    return { definition: undefined, problems: [{ source: file.path, message: file.problem }], warnings: [] };
  }
  const findings = place.hasConfig ? parts.findings.fork() : new Findings(file.path);
  const clientGraph = clientGraphOf(file.graph, config);
  const graph = unraggedGraphOf(clientGraph, config);
  const verdict = graph === clientGraph ? await (options.analyseRows ?? analyseRowsOfFile)(file.path) : raggedVerdict;
  const choice = chooseBatching({ config, graph, verdict, isStrict: options.isBatchingStrict === true }, findings);
  const { rowsMax: batchSizeMax, ...sharing } = choice;
  const completed = completeConfig(config, graph, place.name, groups, choice, findings);
  const labels = withZipMapLabels(await readAllLabels(place.path, config, findings), file.zipMaps);
  const rowsMax = Math.max(1, batchSizeMax);
  const sharedSizes = sharedSizesOf(file.graph, completed.inputs);
  const plainView: ModelView = {
    name: place.name,
    version,
    platform: platformName,
    inputs: completed.inputs,
    outputs: completed.outputs,
    isBatched: batchSizeMax > 0,
    rowsMax,
    sharing,
    labels,
    ...(sharedSizes.length === 0 ? {} : { sharedSizes }),
    ...(file.graph.emptyHazard === undefined ? {} : { emptyHazard: file.graph.emptyHazard }),
    config: jsonFromModelConfig(completed.config),
  };
  const shaping = readShaping(config, file.graph, plainView, findings);
  const view = shaping === undefined ? plainView : { ...plainView, shaping };
  const sequencing = await readSequencing({
    config,
    graph: file.graph,
    view,
    instanceCount: groups.reduce((sum, { count, gpus }) => sum + count * Math.max(1, gpus.length), 0),
    settings,
    modelFolder: place.path,
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
  const samplePlace = { inputs, rowsMax: batchSizeMax, folder: place.path, rowShapes };
  const warmup = await readWarmup(config, samplePlace, findings);
  const ofSequences = sequenceQueuePolicy(config, rowsMax, findings);
  const isBatched = batchSizeMax > 0 && shaping?.engine.isBatched !== false;
  const { hasConvolutions } = file.graph;
  // Batches are filled up with rows that nobody sent.
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
    }),
    ...(sequencing === undefined ? {} : { sequencing }),
  };
  return { definition, problems, warnings };
}

function failedModel(name: string, { problems, warnings }: Findings): ModelReading {
  return { definition: undefined, failures: [{ name, version: '', problems }], warnings };
}

/** Versions that the policy names and that have no folder are left out, as Triton leaves them out; one must be there. */
function noteMissingVersions(
  place: ModelLocation,
  versions: readonly string[],
  missing: readonly string[],
  findings: Findings,
): void {
  const field = 'version_policy.specific.versions';
  if (versions.length > 0) {
    for (const version of missing) {
      findings.warning(field, `names version ${version}, but there is no folder ${join(place.path, version)}`);
    }
  } else if (missing.length > 0) {
    const present = [...place.versions].sort(compareVersions).join(', ');
    const there = present === '' ? 'there is no version folder' : `the version folders are ${present}`;
    findings.problem(field, `names ${missing.join(', ')}, and none of them exists; ${there}`);
  } else if (!findings.hasProblems) {
    const example = `${place.name}/1/${modelFilenameDefault}`;
    findings.problem('', `no version of ${place.name} can be served; put one at ${example}`);
  }
}
