import { createLocalLane } from '@millrace/router/internal';
import { programs } from 'millrace/internal';
import { isLong } from '../long-tests.ts';
import { bundledProgram } from '../support/bundled-program.ts';
import { describeLane } from './lane.ts';

const eventWorker = await bundledProgram('support/event-worker');
const silentWorker = await bundledProgram('support/silent-worker');

describeLane('local', {
  createLane: () => createLocalLane({ workerPath: programs.worker, sharedMemoryBytesMax: 2 ** 26 }),
  createCallingLane: () => createLocalLane({ workerPath: programs.pipelineWorker, sharedMemoryBytesMax: 2 ** 26 }),
  createSilentLane: () => createLocalLane({ workerPath: silentWorker, sharedMemoryBytesMax: 2 ** 20 }),
  life: 'started',
  startsProcess: true,
});

if (isLong) {
  describeLane('local, heard by the event loop', {
    createLane: () => createLocalLane({ workerPath: eventWorker, sharedMemoryBytesMax: 2 ** 26 }),
    // Everything in frames: the other local lane has shared memory.
    createCallingLane: () => createLocalLane({ workerPath: programs.pipelineWorker, sharedMemoryBytesMax: 0 }),
    createSilentLane: () => createLocalLane({ workerPath: silentWorker, sharedMemoryBytesMax: 0 }),
    life: 'started',
    startsProcess: true,
  });
}
