/** Reads a version of a generator: its graph and the files beside it. */
import { join } from 'node:path';
import { resolveModelPolicy } from '@millrace/core';
import { type DecoderDescription, type GenerationBounds, ModelFileError } from '@millrace/generation';
import { datatypes, type TensorSpec } from '@millrace/protocol';
import type { ModelVersionDefinition } from '../../../model/model-definition.ts';
import type { ModelConfig } from '../../config-text/model-config-schema.ts';
import { jsonFromModelConfig } from '../../config-text/read-model-config.ts';
import { concurrencyParameter } from '../../model-parameters.ts';
import { modelFilenameDefault } from '../../repository-layout.ts';
import type { ModelParts, VersionReading } from '../model-kind.ts';
import { type ModelFile, readModelFile } from '../onnx/model-file.ts';
import { generatorBackendName, generatorPlatformName, isDeclaredGenerator } from './declared-generator.ts';
import { describeDecoderFolder } from './describe-folder.ts';

/** Texts that one worker generates at once; those that find no room in the memory for caches wait. */
const concurrencyDefault = 256;
/** Where no file has the length of the context. */
const tokensBelieved = 2 ** 31;

const inputs: readonly TensorSpec[] = [
  { name: 'text_input', datatype: 'BYTES', shape: [1] },
  { name: 'sampling_parameters', datatype: 'BYTES', shape: [1], isOptional: true },
];
const outputs: readonly TensorSpec[] = [
  { name: 'text_output', datatype: 'BYTES', shape: [1] },
  { name: 'token', datatype: 'INT64', shape: [-1] },
  { name: 'finish_reason', datatype: 'BYTES', shape: [1] },
  { name: 'prompt_tokens', datatype: 'INT32', shape: [1] },
  { name: 'output_tokens', datatype: 'INT32', shape: [1] },
];

export async function readGeneratorVersion(parts: ModelParts, version: string): Promise<VersionReading> {
  const { location, config, settings, groups, batching } = parts;
  const path = join(location.path, version, config.default_model_filename ?? modelFilenameDefault);
  const file = await readModelFile(path);
  const decoder = 'problem' in file ? file.problem : await describedOrProblem(file, isDeclaredGenerator(config));
  if ('problem' in file || typeof decoder === 'string') {
    return { definition: undefined, problems: [{ source: file.path, message: String(decoder) }], warnings: [] };
  }
  const completed: ModelConfig = {
    ...config,
    name: location.name,
    platform: generatorPlatformName,
    backend: generatorBackendName,
    version_policy: config.version_policy ?? { latest: { num_versions: 1 } },
    max_batch_size: 0,
    input: inputs.map(entryFrom),
    output: outputs.map(entryFrom),
    model_transaction_policy: { decoupled: true },
    instance_group: groups.map(({ name, count }) => ({ name, kind: 'KIND_CPU' as const, count })),
  };
  const definition: ModelVersionDefinition = {
    version,
    path: file.path,
    externalPaths: file.externalPaths,
    view: {
      name: location.name,
      version,
      platform: generatorPlatformName,
      inputs,
      outputs,
      isBatched: false,
      rowsMax: 1,
      labels: new Map(),
      takesTextOnly: true,
      isDecoupled: true,
      isResumable: true,
      isGenerator: true,
      generationBounds: boundsOf(decoder),
      config: jsonFromModelConfig(completed),
    },
    policy: resolveModelPolicy({
      ...batching,
      weight: settings.weight,
      rowsMax: 1,
      queueRequestsMax: settings.queueRequestsMax,
      queueBytesMax: settings.queueBytesMax,
      runMsMax: settings.runMsMax,
      instancesInUseMax: parts.instancesInUseMax,
      isConcurrent: true,
      sharesProgress: true,
      callerRunsMax: settings.callerRunsMax,
      unreadMsMax: settings.unreadMsMax,
    }),
    runner: 'queue',
    concurrent: {
      concurrency: config.parameters?.[concurrencyParameter] === undefined ? concurrencyDefault : settings.concurrency,
      isDecoupled: true,
      cacheBytesMax: settings.generatorCacheBytesMax,
    },
  };
  return { definition, problems: [], warnings: [] };
}

const plainAdvice = '; to serve the tensors of the graph instead, set backend: "onnxruntime" in config.pbtxt';

/** The prompt has one token at least. A worker may have less memory for caches, and refuses what does not fit. */
function boundsOf({
  defaults,
  vocabularySize,
  contextTokensMax = tokensBelieved,
}: DecoderDescription): GenerationBounds {
  return { defaults, limits: { vocabularySize, outputTokensMax: contextTokensMax - 1 } };
}

async function describedOrProblem(
  { path, graph }: ModelFile,
  isDeclared: boolean,
): Promise<DecoderDescription | string> {
  try {
    const described = await describeDecoderFolder(path, graph, isDeclared);
    return described.kind === 'decoder' ? described : `cannot generate text: ${described.reason}`;
  } catch (error) {
    if (error instanceof ModelFileError) {
      return `cannot generate text: ${error.message}${isDeclared ? '' : plainAdvice}`;
    }
    throw error;
  }
}

function entryFrom({ name, datatype, shape, isOptional }: TensorSpec) {
  const entry = { name, data_type: datatypes[datatype].configName, dims: shape };
  return isOptional === true ? { ...entry, optional: true } : entry;
}
