import { createLocalLane } from '@millrace/router/internal';
import { describeLane } from './lane.ts';
import { mustFindEventWorker, mustFindPipelineWorker, mustFindSilentWorker, mustFindWorker } from './worker-path.ts';

describeLane('local', {
  createLane: () => createLocalLane({ workerPath: mustFindWorker(), sharedMemoryBytesMax: 2 ** 26 }),
  createCallingLane: () => createLocalLane({ workerPath: mustFindPipelineWorker(), sharedMemoryBytesMax: 2 ** 26 }),
  createSilentLane: () => createLocalLane({ workerPath: mustFindSilentWorker(), sharedMemoryBytesMax: 2 ** 20 }),
  hasProcess: true,
});

describeLane('local, heard by the event loop', {
  createLane: () => createLocalLane({ workerPath: mustFindEventWorker(), sharedMemoryBytesMax: 2 ** 26 }),
  // Everything in frames: the other local lane has shared memory.
  createCallingLane: () => createLocalLane({ workerPath: mustFindPipelineWorker(), sharedMemoryBytesMax: 0 }),
  createSilentLane: () => createLocalLane({ workerPath: mustFindSilentWorker(), sharedMemoryBytesMax: 0 }),
  hasProcess: true,
});
