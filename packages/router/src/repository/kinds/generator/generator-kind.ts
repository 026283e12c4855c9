/** A generator: a decoder in the form of Hugging Face's exporters, with its tokenizer beside it. Text in, tokens and text out. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ModelFileError } from '@millrace/generation';
import { readOnnxFile } from '@millrace/onnx';
import type { Findings } from '../../config-text/findings.ts';
import type { ModelConfig } from '../../config-text/model-config-schema.ts';
import { type ModelLocation, modelFilenameDefault } from '../../repository-layout.ts';
import type { RecognisedKind } from '../model-kind.ts';
import { generatorBackendName, generatorPlatformName, isDeclaredGenerator } from './declared-generator.ts';
import { describeDecoderFolder } from './describe-folder.ts';
import { readGeneratorVersion } from './read-generator.ts';

export const generatorKind: RecognisedKind = {
  name: 'generator',
  platform: generatorPlatformName,
  backend: generatorBackendName,
  engine: 'generator',
  lane: 'generator',
  // ONNX Runtime in Node copies the cache from and to a GPU with every token.
  instances: 'on-cpu',
  needsVersionFolder: true,
  runsCode: false,
  parameters: [
    'millrace.caller_concurrency_max',
    'millrace.concurrency',
    'millrace.generator_cache_bytes_max',
    'millrace.queue_requests_max',
    'millrace.queue_bytes_max',
    'millrace.run_ms_max',
    'millrace.spinning',
    'millrace.threads',
    'millrace.unread_ms_max',
    'millrace.warm_spare',
    'millrace.weight',
  ],
  foreignParameterText:
    'does not apply to a generator, which batches its texts by itself in worker processes of its own; remove it',
  recognises: isGenerator,
  checkHead,
  readVersion: readGeneratorVersion,
};

async function isGenerator(config: ModelConfig, location: ModelLocation): Promise<boolean> {
  const { backend = '', platform = '', input = [] } = config;
  if (isDeclaredGenerator(config)) return true;
  // Who declares inputs wants the tensors of the graph.
  if (backend !== '' || platform !== '' || input.length > 0 || location.isSingleFile) return false;
  const filename = config.default_model_filename ?? modelFilenameDefault;
  for (const version of location.versions) {
    const folder = join(location.path, version);
    const names = await readdir(folder).catch((): string[] => []);
    if (!names.includes('tokenizer.json') || !names.includes(filename)) continue;
    if (await isDecoder(join(folder, filename))) return true;
  }
  return false;
}

/** A graph that cannot be read is none: the kind that it falls to says what is wrong with it. */
async function isDecoder(path: string): Promise<boolean> {
  try {
    return (await describeDecoderFolder(path, await readOnnxFile(path), false)).kind === 'decoder';
  } catch (error) {
    // It is one, and reading its version says what is wrong with the files beside it.
    return error instanceof ModelFileError;
  }
}

function checkHead(config: ModelConfig, findings: Findings): void {
  for (const field of ['input', 'output', 'batch_input', 'batch_output', 'model_warmup'] as const) {
    if ((config[field] ?? []).length > 0) {
      findings.problem(field, 'the server sets the inputs, outputs and warm-up of a generator; remove it');
    }
  }
  if ((config.max_batch_size ?? 0) !== 0) {
    findings.problem(
      'max_batch_size',
      'a request to a generator is one text; remove it, texts share runs by themselves',
    );
  }
  if (config.model_transaction_policy?.decoupled === false) {
    findings.problem('model_transaction_policy.decoupled', 'a generator answers token by token; remove it');
  }
  if (config.response_cache?.enable === true) {
    findings.problem('response_cache.enable', 'answers of a generator are not cached; remove it');
  }
  if (config.sequence_batching !== undefined) {
    findings.problem('sequence_batching', 'a generator keeps no state between requests; remove it');
  }
}
