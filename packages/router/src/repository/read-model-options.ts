import type { AnalyseRows } from '@millrace/onnx';
import type { GpuSupport } from '@millrace/protocol';
import type { DescribePipeline } from './kinds/pipeline/describe-pipeline.ts';
import type { ModelDefaults } from './model-parameters.ts';

export interface ReadModelOptions {
  /** Without a GPU, a model that insists on one is a failure. */
  readonly gpu: GpuSupport;
  readonly defaults: ModelDefaults;
  /** Asks a pipeline what it declares; without it, all must stand in its configuration. */
  readonly describePipeline?: DescribePipeline;
  /** Whether requests may share the runs of a graph; without it, found out on the calling thread. */
  readonly analyseRows?: AnalyseRows;
  /** A configuration that lets requests share runs of a graph whose rows depend on each other is a failure. */
  readonly isBatchingStrict?: boolean;
}
