import type { AnalyseRows } from '@millrace/onnx';
import type { GpuSupport } from '@millrace/protocol';
import type { DescribePipeline } from './kinds/pipeline/describe-pipeline.ts';
import type { ModelDefaults } from './model-parameters.ts';

export interface ReadModelOptions {
  /** Without a GPU, a model that requires one is a failure. */
  readonly gpu: GpuSupport;
  readonly defaults: ModelDefaults;
  /** Reads what a pipeline declares; without it, the configuration must be complete. */
  readonly describePipeline?: DescribePipeline;
  /** Whether requests may share the runs of a graph; without it, the analysis runs on the calling thread. */
  readonly analyseRows?: AnalyseRows;
  /** A configuration that lets requests share runs of a graph whose rows depend on each other is a failure. */
  readonly isBatchingStrict?: boolean;
}
