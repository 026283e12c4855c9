import { FuzzRandom } from '../../fuzz/random.ts';
import type { Attack } from '../attack.ts';

export const killedWorkers: Attack = {
  name: 'killed-workers',
  row: 'Worker processes are killed under load; no request of anybody may fail for it.',
  expected: 'harmless',
  establishedMin: 0,
  run: async (target, pressure) => {
    const random = new FuzzRandom(target.location.seed);
    await target.sleep(500);
    while (!target.isOver) {
      const pids = await target.servingPids();
      if (pids.length > 0) {
        try {
          process.kill(random.pick(pids), 'SIGKILL');
        } catch {
          // It ended by itself meanwhile.
        }
      }
      await target.sleep(2000 / pressure);
    }
  },
};
