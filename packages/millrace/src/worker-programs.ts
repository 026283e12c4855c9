/** The programs of the worker package that a server starts as child processes. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const workerPrograms = {
  /** Runs models on engines that wait only for the processor. */
  main: require.resolve('@millrace/worker/main'),
  /** Runs pipelines. */
  pipeline: require.resolve('@millrace/worker/pipeline-main'),
  /** Describes a pipeline: the inputs and outputs it declares. */
  pipelineDescriber: require.resolve('@millrace/worker/pipeline-describe'),
  /** Finds out whether the rows of a graph are independent; in a process, because a large graph would block every request. */
  rowAnalyst: require.resolve('@millrace/worker/row-analyst'),
} as const;
