import type { Attack } from '../attack.ts';

const descriptorsMax = 512;

export const descriptors: Attack = {
  name: 'descriptors',
  row: 'Connections use up the descriptors of the server, and then the workers die: their successors cannot be started.',
  expected: 'refused',
  descriptorsMax,
  isAlone: true,
  secondsMin: 6,
  run: async (target) => {
    const dial = async (): Promise<void> => {
      const socket = await target.dial();
      socket?.resume();
    };
    await Promise.all(Array.from({ length: 2 * descriptorsMax }, dial));
    for (const victim of target.workerPids()) process.kill(victim, 'SIGKILL');
    while (!target.isOver) {
      await Promise.all(Array.from({ length: 20 }, dial));
      await target.sleep(50);
    }
    if (target.workerPids().length === 0) target.fate.harm('no worker was started again');
  },
};
