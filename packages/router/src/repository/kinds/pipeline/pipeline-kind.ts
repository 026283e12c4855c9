/** A pipeline: a module of user code beside the model's configuration, or instead of one. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Findings } from '../../config-text/findings.ts';
import type { ModelConfig } from '../../config-text/model-config-schema.ts';
import { type ModelLocation, modelFilenameDefault } from '../../repository-layout.ts';
import type { RecognisedKind } from '../model-kind.ts';
import { pipelineBackendName, pipelineFilenames, pipelinePlatformName, readPipelineVersion } from './read-pipeline.ts';

export const pipelineKind: RecognisedKind = {
  name: 'pipeline',
  platform: pipelinePlatformName,
  backend: pipelineBackendName,
  engine: 'pipeline',
  lane: 'pipeline',
  // The module itself runs on the CPU, also where the models that it calls run on GPUs.
  instances: 'on-cpu',
  needsVersionFolder: true,
  runsCode: true,
  parameters: [
    'millrace.caller_concurrency_max',
    'millrace.concurrency',
    'millrace.queue_requests_max',
    'millrace.queue_bytes_max',
    'millrace.resumable',
    'millrace.run_ms_max',
    'millrace.unread_ms_max',
    'millrace.warm_spare',
    'millrace.weight',
  ],
  // User code does not run on the threads of an engine.
  foreignParameterText: 'does not apply to a pipeline, which has worker processes of its own; remove it',
  recognises: isPipeline,
  checkHead,
  readVersion: readPipelineVersion,
};

async function isPipeline(config: ModelConfig, location: ModelLocation): Promise<boolean> {
  const { backend = '', platform = '' } = config;
  if (backend === pipelineBackendName || platform === pipelinePlatformName) return true;
  if (backend !== '' || platform !== '' || location.isSingleFile) return false;
  for (const version of location.versions) {
    const names = await readdir(join(location.path, version)).catch((): string[] => []);
    if (names.includes(modelFilenameDefault)) return false;
    if (names.some((name) => pipelineFilenames.includes(name))) return true;
  }
  return false;
}

function checkHead(config: ModelConfig, findings: Findings): void {
  if ((config.model_warmup ?? []).length > 0) {
    findings.problem('model_warmup', 'a pipeline is ready when its module is loaded and has no warm-up; remove it');
  }
  if (config.response_cache?.enable === true) {
    findings.problem('response_cache.enable', 'results change with the models that are called; enable it for those');
  }
  if (config.sequence_batching !== undefined) {
    findings.problem('sequence_batching', 'a pipeline keeps no state between requests; let it call a model that does');
  }
  for (const field of ['batch_input', 'batch_output'] as const) {
    if ((config[field] ?? []).length > 0)
      findings.problem(field, 'applies to graphs only; a pipeline lays out its rows itself; remove it');
  }
}
