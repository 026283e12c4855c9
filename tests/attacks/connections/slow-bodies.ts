import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { Http1Answers, requestHead } from '../raw/http1.ts';
import { inferPath } from '../raw/requests.ts';

/** Just above the least rate of a body as it is by default: 32 bytes a second. */
const bytesPerSecond = 40;

export const slowBodies: Attack = {
  name: 'slow-bodies',
  row: 'Hundreds of connections announce bodies of 200 MB and send them just above the least allowed rate, for ever.',
  expected: 'refused',
  secondsMin: 8,
  run: (target, pressure) =>
    target.again(300 * pressure, async () => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(500);
      const answers = new Http1Answers(target, socket);
      let isAnswered = false;
      void answers.next().then(() => {
        isAnswered = true;
      });
      const fields = { 'content-type': 'application/json', 'content-length': 200_000_000 };
      socket.write(requestHead(target, 'POST', inferPath(doubleModel), fields));
      while (!target.isOver && !isAnswered && !socket.destroyed && socket.writable) {
        socket.write('x'.repeat(bytesPerSecond / 2));
        await target.sleep(500);
      }
      target.hangUp(socket);
      await target.sleep(200);
    }),
};
