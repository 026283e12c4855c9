import type { Attack } from '../attack.ts';

const connections = 10_000;
const dialled = 200;

export const idleConnections: Attack = {
  name: 'idle-connections',
  row: 'Ten thousand connections from one address say nothing, and nobody else can connect.',
  expected: 'refused',
  isSharedInShort: true,
  establishedMin: 10_000,
  secondsMin: 6,
  run: async (target, pressure) => {
    let open = 0;
    while (!target.isOver) {
      if (open >= connections * pressure) {
        await target.sleep(20);
        continue;
      }
      await Promise.all(
        Array.from({ length: dialled }, async () => {
          const socket = await target.dial();
          if (socket === undefined) return;
          open++;
          target.nowEstablished();
          socket.resume();
          socket.once('close', () => open--);
        }),
      );
      await target.sleep(5);
    }
  },
};
