/** Reads a version of a pipeline: its module, inputs and outputs. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { resolveModelPolicy } from '@millrace/core';
import { datatypes, type TensorSpec } from '@millrace/protocol';
import type { ModelVersionDefinition } from '../../../model/model-definition.ts';
import type { Findings } from '../../config-text/findings.ts';
import type { ModelConfig } from '../../config-text/model-config-schema.ts';
import { jsonFromModelConfig } from '../../config-text/read-model-config.ts';
import { declaredSpecs } from '../../declared-tensor.ts';
import { readAllLabels } from '../../label-file.ts';
import { callerConcurrencyParameter, resumableParameter, unreadParameter } from '../../model-parameters.ts';
import type { ReadModelOptions } from '../../read-model-options.ts';
import type { ModelLocation } from '../../repository-layout.ts';
import type { ModelParts, VersionReading } from '../model-kind.ts';
import type { DescribePipeline, PipelineDescription } from './describe-pipeline.ts';

export const pipelinePlatformName = 'millrace_pipeline';
export const pipelineBackendName = 'pipeline';
/** The first that exists is used. */
export const pipelineFilenames = ['pipeline.ts', 'pipeline.mts', 'pipeline.js', 'pipeline.mjs'];

export async function readPipelineVersion(
  parts: ModelParts,
  version: string,
  { describePipeline }: ReadModelOptions,
): Promise<VersionReading> {
  const { location, config, settings, groups, batching } = parts;
  const findings = parts.findings.fork();
  const path = await takePath(location, version, config, findings);
  const needsModule = (config.input ?? []).length === 0 || (config.output ?? []).length === 0;
  const description = path !== undefined && needsModule ? await takeDescription(path, describePipeline, findings) : {};
  const labels = await readAllLabels(location.path, config, findings);
  const rowsMax = rowsMaxOf(config, description, findings);
  const isBatched = rowsMax > 0;
  const isDecoupled = isDecoupledBy(config, description, isBatched, findings);
  const inputs = takeSpecs(config, 'input', description.inputs, isBatched, findings);
  const outputs = takeSpecs(config, 'output', description.outputs, isBatched, findings);
  const { problems, warnings } = findings;
  if (path === undefined || findings.hasProblems) return { definition: undefined, problems, warnings };
  const completed: ModelConfig = {
    ...config,
    name: location.name,
    platform: pipelinePlatformName,
    backend: pipelineBackendName,
    version_policy: config.version_policy ?? { latest: { num_versions: 1 } },
    max_batch_size: rowsMax,
    input: inputs.map((spec, index) => ({ ...config.input?.[index], ...entryFrom(spec, isBatched) })),
    output: outputs.map((spec, index) => ({ ...config.output?.[index], ...entryFrom(spec, isBatched) })),
    ...(isDecoupled ? { model_transaction_policy: { decoupled: true } } : {}),
    instance_group: groups.map(({ name, count }) => ({ name, kind: 'KIND_CPU' as const, count })),
  };
  const definition: ModelVersionDefinition = {
    version,
    path,
    externalPaths: [],
    view: {
      name: location.name,
      version,
      platform: pipelinePlatformName,
      inputs,
      outputs,
      isBatched,
      rowsMax: Math.max(1, rowsMax),
      labels,
      ...(isDecoupled ? { isDecoupled } : {}),
      ...(isDecoupled && isResumable(config) ? { isResumable: true } : {}),
      config: jsonFromModelConfig(completed),
    },
    policy: resolveModelPolicy({
      ...batching,
      weight: settings.weight,
      rowsMax: Math.max(1, rowsMax),
      queueRequestsMax: settings.queueRequestsMax,
      queueBytesMax: settings.queueBytesMax,
      runMsMax: settings.runMsMax,
      instancesInUseMax: parts.instancesInUseMax,
      isConcurrent: true,
      ...(isDecoupled ? { callerRunsMax: settings.callerRunsMax, unreadMsMax: unreadMsMaxOf(parts) } : {}),
    }),
    runner: 'queue',
    concurrent: { concurrency: settings.concurrency, ...(isDecoupled ? { isDecoupled } : {}) },
  };
  return { definition, problems, warnings };
}

/** A durable stream goes on with a run that gave way only if the pipeline can be run again; otherwise it would end. */
function unreadMsMaxOf({ config, settings }: ModelParts): number {
  const isWanted = isResumable(config) || config.parameters?.[unreadParameter] !== undefined;
  return isWanted ? settings.unreadMsMax : Number.POSITIVE_INFINITY;
}

function isResumable({ parameters }: ModelConfig): boolean {
  return parameters?.[resumableParameter]?.string_value === 'true';
}

async function takePath(
  location: ModelLocation,
  version: string,
  config: ModelConfig,
  findings: Findings,
): Promise<string | undefined> {
  const folder = join(location.path, version);
  const names = await readdir(folder).catch((): string[] => []);
  const wanted = config.default_model_filename === undefined ? pipelineFilenames : [config.default_model_filename];
  const name = wanted.find((candidate) => names.includes(candidate));
  if (name !== undefined) return join(folder, name);
  findings.problem('', `there is no ${wanted[0]} in ${folder}; put the pipeline's module there`);
  return undefined;
}

async function takeDescription(
  path: string,
  describe: DescribePipeline | undefined,
  findings: Findings,
): Promise<PipelineDescription> {
  if (describe === undefined) {
    findings.problem(
      'input',
      'is incomplete; write all inputs and outputs, because the module is not run here to read its declaration',
    );
    return {};
  }
  const described = await describe(path);
  if ('description' in described) return described.description;
  findings.problem('', `${path}: ${described.problem}`);
  return {};
}

/** Declared by the module; where that is not read, by the configuration, which the load checks. */
function isDecoupledBy(
  config: ModelConfig,
  { decoupled }: PipelineDescription,
  isBatched: boolean,
  findings: Findings,
): boolean {
  const field = 'model_transaction_policy.decoupled';
  const written = config.model_transaction_policy?.decoupled;
  if (written !== undefined && decoupled !== undefined && written !== decoupled) {
    findings.problem(
      field,
      `is ${written}, but the module ${decoupled ? 'gives several answers' : 'gives one answer'}`,
    );
  }
  const isDecoupled = written ?? decoupled ?? false;
  if (isDecoupled && isBatched) {
    findings.problem(field, 'a decoupled pipeline answers each request by itself; remove max_batch_size');
  }
  for (const parameter of [callerConcurrencyParameter, unreadParameter]) {
    if (isDecoupled || config.parameters?.[parameter] === undefined) continue;
    const message = 'applies only to a pipeline that gives several answers to a request; remove it';
    findings.problem(`parameters[${JSON.stringify(parameter)}]`, message);
  }
  return isDecoupled;
}

function rowsMaxOf(config: ModelConfig, { maxBatchSize }: PipelineDescription, findings: Findings): number {
  const written = config.max_batch_size;
  if (written !== undefined && written < 0)
    findings.problem('max_batch_size', `${written} is out of range; it must be 0 (no batching) or more`);
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
