import { createLocalLane } from '@millrace/router';
import { createInlineLane, onnxruntimeEngine } from '@millrace/worker';
import { pipelineEngineOf } from '@millrace/worker/testing';
import callingPipeline from './calling-pipeline.ts';
import { describeLane } from './lane.ts';
import { mustFindEventWorker, mustFindPipelineWorker, mustFindWorker } from './worker-path.ts';

describeLane('inline', {
  createLane: () => createInlineLane({ engines: [onnxruntimeEngine] }),
  createCallingLane: () => createInlineLane({ engines: [pipelineEngineOf(callingPipeline)] }),
  hasProcess: false,
});

describeLane('local', {
  createLane: () => createLocalLane({ workerPath: mustFindWorker(), sharedMemoryBytesMax: 2 ** 26 }),
  createCallingLane: () => createLocalLane({ workerPath: mustFindPipelineWorker(), sharedMemoryBytesMax: 2 ** 26 }),
  hasProcess: true,
});

describeLane('local, heard by the event loop', {
  createLane: () => createLocalLane({ workerPath: mustFindEventWorker(), sharedMemoryBytesMax: 2 ** 26 }),
  // Everything in frames: the other local lane has shared memory.
  createCallingLane: () => createLocalLane({ workerPath: mustFindPipelineWorker(), sharedMemoryBytesMax: 0 }),
  hasProcess: true,
});
