import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { requestHead } from '../raw/http1.ts';
import { inferMethod } from '../raw/infer-message.ts';
import { inferPath } from '../raw/requests.ts';
import { closed, sent } from '../target.ts';

const round = Buffer.from('1\r\nx\r\n'.repeat(20_000));
/** A body this large is as much as the attack needs. */
const bodyBytesMax = 60_000_000;

export const oneByteChunks: Attack = {
  name: 'one-byte-chunks',
  row: 'Chunked HTTP/1.1 bodies of 1-byte chunks, to REST and to Connect, cost the router 137 bytes of memory for each byte of the body.',
  expected: 'harmless',
  memoryPerBodyByteMax: 4,
  run: (target, pressure) =>
    target.again(2 * pressure, async (loop) => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(100);
      socket.resume();
      const isConnect = loop % 2 === 1;
      const head = requestHead(target, 'POST', isConnect ? inferMethod : inferPath(doubleModel), {
        'content-type': isConnect ? 'application/proto' : 'application/json',
        'transfer-encoding': 'chunked',
        ...(isConnect ? { 'connect-protocol-version': '1' } : {}),
      });
      socket.write(head);
      for (let bytes = 0; bytes < bodyBytesMax && !target.isOver; bytes += 20_000) {
        if (!(await sent(socket, round))) break;
        target.fate.bodyBytes += 20_000;
      }
      if (!target.isOver) await Promise.race([closed(socket), target.sleep(5000)]);
      target.hangUp(socket);
    }),
};
