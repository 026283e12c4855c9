import type { Attack } from '../attack.ts';
import { Http1Answers } from '../raw/http1.ts';

export const slowHeads: Attack = {
  name: 'slow-heads',
  row: 'Five hundred connections send the head of a request a byte at a time (slowloris).',
  expected: 'refused',
  // A short time for heads also cuts off bystanders on a machine that is busy enough: only this attack needs it.
  serve: ['--header-seconds-max', '3'],
  secondsMin: 6,
  run: (target, pressure) =>
    target.again(500 * pressure, async () => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(500);
      const answers = new Http1Answers(target, socket);
      void answers.next();
      socket.write('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ');
      while (!target.isOver && !socket.destroyed && socket.writable) {
        socket.write('a');
        await target.sleep(500);
      }
    }),
};
