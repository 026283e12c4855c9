import { createRequire } from 'node:module';
import { createPipelineDescriber, type DescribePipeline } from '@millrace/router';

const require = createRequire(import.meta.url);

/** The program of the workers that run pipelines. */
export const pipelineWorkerPath = require.resolve('@millrace/worker/pipeline-main');

/** Asks pipelines what they declare, in processes of their own. */
export const describePipeline: DescribePipeline = createPipelineDescriber({
  programPath: require.resolve('@millrace/worker/pipeline-describe'),
});
