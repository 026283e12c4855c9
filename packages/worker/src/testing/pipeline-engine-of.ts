import type { Engine } from '../engine.ts';
import type { PipelineDefinition } from '../pipeline/pipeline-api.ts';
import { PipelineSession } from '../pipeline/pipeline-session.ts';

/** The pipeline engine for a given definition, for tests that load no module. */
export function pipelineEngineOf(pipeline: PipelineDefinition): Engine {
  return { name: 'pipeline', isConcurrent: true, load: async (spec) => new PipelineSession(pipeline, spec) };
}
