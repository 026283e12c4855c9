import type { LoadSpec } from '@millrace/protocol';
import type { Engine, Session } from '../engine.ts';
import { declarationOf, mismatchOf } from './declaration.ts';
import { loadSharp } from './decode-image.ts';
import { loadPipelineModule } from './load-module.ts';
import type { PipelineDefinition } from './pipeline-api.ts';
import { PipelineSession } from './pipeline-session.ts';
import { reasonOf } from './user-error.ts';

/** Runs TypeScript and JavaScript modules that call other models. */
export const pipelineEngine: Engine = {
  name: 'pipeline',
  isConcurrent: true,

  async load(spec: LoadSpec): Promise<Session> {
    const title = `"${spec.name}" version ${spec.version} could not be loaded`;
    let pipeline: PipelineDefinition;
    try {
      pipeline = await loadPipelineModule(spec.path);
      const mismatch = mismatchOf(declarationOf(pipeline), spec);
      if (mismatch !== undefined) throw new Error(mismatch);
    } catch (error) {
      throw new Error(`${title}: ${reasonOf(error, spec.path)}`);
    }
    // Pictures are inputs of these datatypes. Loaded now, because a worker that is ready opens only its model's files.
    if (spec.inputs.some(({ datatype }) => datatype === 'BYTES' || datatype === 'UINT8')) await loadSharp();
    return new PipelineSession(pipeline, spec);
  },
};
