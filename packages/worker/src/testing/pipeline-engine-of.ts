import type { Engine } from '../engine.ts';
import type { PipelineDefinition } from '../pipeline/pipeline-api.ts';
import { PipelineSession } from '../pipeline/pipeline-session.ts';

/** The engine of pipelines with one that is at hand, where no module can be loaded. */
export function pipelineEngineOf(pipeline: PipelineDefinition): Engine {
  return { name: 'pipeline', isConcurrent: true, load: async (spec) => new PipelineSession(pipeline, spec) };
}
