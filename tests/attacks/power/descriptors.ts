import type { Attack } from '../attack.ts';
import { workerPidsOf } from '../target.ts';

const descriptorsMax = 512;

export const descriptors: Attack = {
  name: 'descriptors',
  row: 'Connections use up the descriptors of the server, and then the workers die: their successors cannot be started.',
  expected: 'refused',
  descriptorsMax,
  isAlone: true,
  establishedMin: 1,
  secondsMin: 6,
  fault: (routerPid) => {
    for (const victim of workerPidsOf(routerPid)) process.kill(victim, 'SIGKILL');
  },
  run: async (target) => {
    const dial = async (): Promise<void> => {
      const socket = await target.dial();
      socket?.resume();
    };
    await Promise.all(Array.from({ length: 2 * descriptorsMax }, dial));
    target.nowEstablished();
    while (!target.isOver) {
      await Promise.all(Array.from({ length: 20 }, dial));
      await target.sleep(50);
    }
    if (workerPidsOf(target.location.routerPid).length === 0) target.fate.harm('no worker was started again');
  },
};
