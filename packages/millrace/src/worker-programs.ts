/** The programs of the worker package that a server starts as child processes. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const workerPrograms = {
  /** Runs models by the engines that wait for nothing but the processor. */
  main: require.resolve('@millrace/worker/main'),
  /** Runs pipelines. */
  pipeline: require.resolve('@millrace/worker/pipeline-main'),
  /** Says what a pipeline declares. */
  pipelineDescriber: require.resolve('@millrace/worker/pipeline-describe'),
  /** Says whether the rows of a graph are independent: a large one would hold up every request. */
  rowAnalyst: require.resolve('@millrace/worker/row-analyst'),
} as const;
