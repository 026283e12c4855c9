import type { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createPipelineDescriber, type DescribePipeline } from '@millrace/router/internal';

const require = createRequire(import.meta.url);

/** The program of the workers that run pipelines. */
export const pipelineWorkerPath = require.resolve('@millrace/worker/pipeline-main');

/** Asks pipelines what they declare, in processes of their own. */
export function pipelineDescriber(start?: typeof spawn): DescribePipeline {
  const programPath = require.resolve('@millrace/worker/pipeline-describe');
  return createPipelineDescriber({ programPath, ...(start && { spawn: start }) });
}
