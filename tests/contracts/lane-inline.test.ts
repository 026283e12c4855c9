import { createInlineLane, onnxruntimeEngine } from '@millrace/worker';
import { pipelineEngineOf, silentEngine } from '@millrace/worker/testing';
import callingPipeline from './calling-pipeline.ts';
import { describeLane } from './lane.ts';

describeLane('inline', {
  createLane: () => createInlineLane({ engines: [onnxruntimeEngine] }),
  createCallingLane: () => createInlineLane({ engines: [pipelineEngineOf(callingPipeline)] }),
  createSilentLane: () => createInlineLane({ engines: [silentEngine] }),
  life: 'started',
  startsProcess: false,
});
