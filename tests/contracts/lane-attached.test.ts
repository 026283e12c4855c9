/** The lane contract for workers that run on their own: one of each kind, which all tests attach to. */
import { silentEngine } from '@millrace/worker/testing';
import { useAttachedWorkers } from './attached-workers.ts';
import { describeLane } from './lane.ts';

const workers = useAttachedWorkers();
// A link has room for the 8 batches that the contract's pipeline runs at once.
const { socketPath } = await workers.start('worker', '--capacity', '64', '--links-max', '8');
const silent = await workers.serve('silent', { engines: [silentEngine] });

describeLane('local, attached', {
  createLane: () => workers.lane(socketPath),
  createCallingLane: () => workers.lane(socketPath),
  createSilentLane: () => workers.lane(silent),
  life: 'attached',
  startsProcess: false,
});
