/** A pipeline: a module beside the model's configuration, or in place of one. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveModelPolicy } from '@millrace/core';
import { datatypes, type TensorSpec } from '@millrace/protocol';
import { modelFilenameDefault } from '../complete-config.ts';
import type { Findings } from '../config-text/findings.ts';
import type { ModelConfig } from '../config-text/model-config-schema.ts';
import { jsonFromModelConfig } from '../config-text/read-model-config.ts';
import { declaredSpecs } from '../declared-tensor.ts';
import { readAllLabels } from '../label-file.ts';
import { concurrencyParameter } from '../model-parameters.ts';
import type { ModelParts, VersionReading } from '../read-model.ts';
import type { ModelLocation } from '../repository-layout.ts';
import type { DescribePipeline, PipelineDescription } from './describe-pipeline.ts';

export const pipelinePlatformName = 'millrace_pipeline';
export const pipelineBackendName = 'pipeline';
/** The first that is there. */
export const pipelineFilenames = ['pipeline.ts', 'pipeline.mts', 'pipeline.js', 'pipeline.mjs'];

/** By what the configuration says, or by the file when it says nothing. */
export async function isPipelineModel(config: ModelConfig, place: ModelLocation): Promise<boolean> {
  const { backend = '', platform = '' } = config;
  if (backend === pipelineBackendName || platform === pipelinePlatformName) return true;
  if (backend !== '' || platform !== '' || place.isSingleFile) return false;
  for (const version of place.versions) {
    const names = await readdir(join(place.path, version)).catch((): string[] => []);
    if (names.includes(modelFilenameDefault)) return false;
    if (names.some((name) => pipelineFilenames.includes(name))) return true;
  }
  return false;
}

/** What means nothing to a pipeline, because user code does not compute by threads of an engine. */
const foreignParameters: readonly string[] = [
  'millrace.batch',
  'millrace.lane',
  'millrace.worker_group',
  'millrace.threads',
  'millrace.spinning',
  'millrace.latency_target_ms',
  'millrace.pad_ratio_max',
];

export function checkPipelineHead(config: ModelConfig, findings: Findings): void {
  for (const name of foreignParameters) {
    if (config.parameters?.[name] === undefined) continue;
    const why = 'means nothing to a pipeline, which has worker processes of its own';
    findings.problem(`parameters[${JSON.stringify(name)}]`, `${why}; remove it`);
  }
  if ((config.model_warmup ?? []).length > 0) {
    findings.problem('model_warmup', 'a pipeline is loaded when its module is; remove it');
  }
  if (config.response_cache?.enable === true) {
    findings.problem('response_cache.enable', 'results change with the models that are called; enable it for those');
  }
  if (config.sequence_batching !== undefined) {
    findings.problem('sequence_batching', 'a pipeline keeps no state between requests; let it call a model that does');
  }
  for (const field of ['batch_input', 'batch_output'] as const) {
    if ((config[field] ?? []).length > 0) findings.problem(field, 'is for graphs; a pipeline lays its rows itself');
  }
}

/** Of a model that is none. */
export function refuseConcurrency(config: ModelConfig, findings: Findings): void {
  if (config.parameters?.[concurrencyParameter] === undefined) return;
  findings.problem(
    `parameters[${JSON.stringify(concurrencyParameter)}]`,
    'only pipelines run several requests at once',
  );
}

export async function readPipelineVersion(
  parts: ModelParts,
  version: string,
  describe: DescribePipeline | undefined,
): Promise<VersionReading> {
  const { place, config, settings, groups, batching } = parts;
  const findings = parts.findings.fork();
  const path = await takePath(place, version, config, findings);
  const needsModule = (config.input ?? []).length === 0 || (config.output ?? []).length === 0;
  const description = path !== undefined && needsModule ? await takeDescription(path, describe, findings) : {};
  const labels = await readAllLabels(place.path, config, findings);
  const rowsMax = rowsMaxOf(config, description, findings);
  const isBatched = rowsMax > 0;
  const inputs = takeSpecs(config, 'input', description.inputs, isBatched, findings);
  const outputs = takeSpecs(config, 'output', description.outputs, isBatched, findings);
  const { problems, warnings } = findings;
  if (path === undefined || findings.hasProblems) return { definition: undefined, problems, warnings };
  const completed: ModelConfig = {
    ...config,
    name: place.name,
    platform: pipelinePlatformName,
    backend: pipelineBackendName,
    version_policy: config.version_policy ?? { latest: { num_versions: 1 } },
    max_batch_size: rowsMax,
    input: inputs.map((spec, index) => ({ ...config.input?.[index], ...entryFrom(spec, isBatched) })),
    output: outputs.map((spec, index) => ({ ...config.output?.[index], ...entryFrom(spec, isBatched) })),
    instance_group: groups.map(({ name, count }) => ({ name, kind: 'KIND_CPU' as const, count })),
  };
  const definition = {
    version,
    path,
    externalPaths: [],
    view: {
      name: place.name,
      version,
      platform: pipelinePlatformName,
      inputs,
      outputs,
      isBatched,
      rowsMax: Math.max(1, rowsMax),
      labels,
      config: jsonFromModelConfig(completed),
    },
    policy: resolveModelPolicy({
      ...batching,
      weight: settings.weight,
      rowsMax: Math.max(1, rowsMax),
      queueRequestsMax: settings.queueRequestsMax,
      queueBytesMax: settings.queueBytesMax,
      runMsMax: settings.runMsMax,
      isConcurrent: true,
    }),
    pipeline: { concurrency: settings.concurrency },
  };
  return { definition, problems, warnings };
}

async function takePath(
  place: ModelLocation,
  version: string,
  config: ModelConfig,
  findings: Findings,
): Promise<string | undefined> {
  const folder = join(place.path, version);
  const names = await readdir(folder).catch((): string[] => []);
  const wanted = config.default_model_filename === undefined ? pipelineFilenames : [config.default_model_filename];
  const name = wanted.find((candidate) => names.includes(candidate));
  if (name !== undefined) return join(folder, name);
  findings.problem('', `there is no ${wanted[0]} in ${folder}`);
  return undefined;
}

async function takeDescription(
  path: string,
  describe: DescribePipeline | undefined,
  findings: Findings,
): Promise<PipelineDescription> {
  if (describe === undefined) {
    findings.problem('input', 'write all inputs and outputs: the module is not asked here');
    return {};
  }
  const described = await describe(path);
  if ('description' in described) return described.description;
  findings.problem('', `${path}: ${described.problem}`);
  return {};
}

function rowsMaxOf(config: ModelConfig, { maxBatchSize }: PipelineDescription, findings: Findings): number {
  const written = config.max_batch_size;
  if (written !== undefined && written < 0) findings.problem('max_batch_size', `${written} is out of range`);
  if (written !== undefined && maxBatchSize !== undefined && written !== maxBatchSize) {
    findings.problem('max_batch_size', `is ${written}, but the module says ${maxBatchSize}; write it in one of them`);
  }
  if (written !== undefined && written > 0 && maxBatchSize === undefined && (config.input ?? []).length === 0) {
    findings.problem('max_batch_size', 'the module does not expect rows; write maxBatchSize there instead');
  }
  return written ?? maxBatchSize ?? 0;
}

function takeSpecs(
  config: ModelConfig,
  field: 'input' | 'output',
  declared: readonly TensorSpec[] | undefined,
  isBatched: boolean,
  findings: Findings,
): readonly TensorSpec[] {
  const written = config[field] ?? [];
  if (written.length > 0) return declaredSpecs(written, field, isBatched, findings);
  if (declared === undefined && !findings.hasProblems) {
    findings.problem(field, `is neither written here nor declared by the module; add ${field}s to definePipeline`);
  }
  return declared ?? [];
}

function entryFrom({ name, datatype, shape, isOptional }: TensorSpec, isBatched: boolean) {
  const entry = { name, data_type: datatypes[datatype].configName, dims: isBatched ? shape.slice(1) : shape };
  return isOptional === true ? { ...entry, optional: true } : entry;
}
