import { createLocalLane } from '@millrace/router/internal';
import { programs } from 'millrace/internal';
import { describeLane } from './lane.ts';
import { mustFindEventWorker, mustFindSilentWorker } from './worker-path.ts';

describeLane('local', {
  createLane: () => createLocalLane({ workerPath: programs.worker, sharedMemoryBytesMax: 2 ** 26 }),
  createCallingLane: () => createLocalLane({ workerPath: programs.pipelineWorker, sharedMemoryBytesMax: 2 ** 26 }),
  createSilentLane: () => createLocalLane({ workerPath: mustFindSilentWorker(), sharedMemoryBytesMax: 2 ** 20 }),
  life: 'started',
  startsProcess: true,
});

describeLane('local, heard by the event loop', {
  createLane: () => createLocalLane({ workerPath: mustFindEventWorker(), sharedMemoryBytesMax: 2 ** 26 }),
  // Everything in frames: the other local lane has shared memory.
  createCallingLane: () => createLocalLane({ workerPath: programs.pipelineWorker, sharedMemoryBytesMax: 0 }),
  createSilentLane: () => createLocalLane({ workerPath: mustFindSilentWorker(), sharedMemoryBytesMax: 0 }),
  life: 'started',
  startsProcess: true,
});
