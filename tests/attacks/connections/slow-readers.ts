import type { Attack } from '../attack.ts';
import { growRequest } from '../raw/requests.ts';

/** Just above the least rate at which an answer must be taken by default: 240 bytes a second. */
const readBytes = 2048;

export const slowReaders: Attack = {
  name: 'slow-readers',
  row: 'Two hundred connections ask for answers of 4 MB and read them just above the least allowed rate.',
  expected: 'harmless',
  run: (target, pressure) =>
    target.again(200 * pressure, async () => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(500);
      socket.pause();
      socket.write(growRequest(target, 4 * 1024 * 1024));
      while (!target.isOver && !socket.destroyed) {
        socket.read(readBytes);
        await target.sleep(1000);
      }
    }),
};
