import { createLocalLane } from '@millrace/router';
import { createInlineLane, onnxruntimeEngine } from '@millrace/worker';
import { describeLane } from './lane.ts';
import { mustFindEventWorker, mustFindWorker } from './worker-path.ts';

describeLane('inline', {
  createLane: () => createInlineLane({ engines: [onnxruntimeEngine] }),
  hasProcess: false,
});

describeLane('local', {
  createLane: () => createLocalLane({ workerPath: mustFindWorker(), sharedMemoryBytesMax: 2 ** 26 }),
  hasProcess: true,
});

describeLane('local, heard by the event loop', {
  createLane: () => createLocalLane({ workerPath: mustFindEventWorker(), sharedMemoryBytesMax: 2 ** 26 }),
  hasProcess: true,
});
