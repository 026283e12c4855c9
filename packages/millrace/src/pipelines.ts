import type { spawn } from 'node:child_process';
import { createPipelineDescriber, type DescribePipeline } from '@millrace/router/internal';
import { programs } from './programs.ts';

/** Asks pipelines what they declare, in processes of their own. */
export function pipelineDescriber(start?: typeof spawn): DescribePipeline {
  return createPipelineDescriber({ programPath: programs.pipelineDescriber, ...(start && { spawn: start }) });
}
