import type { Attack } from '../attack.ts';
import { Http1Answers, requestHead } from '../raw/http1.ts';
import { Http2Attacker, restFields } from '../raw/http2.ts';
import { sent } from '../target.ts';

export const largeHeaders: Attack = {
  name: 'large-headers',
  row: 'Requests with as many and as large header fields as are allowed, unique ones, and just over the limit, over HTTP/1.1 and HTTP/2.',
  expected: 'refused',
  run: (target, pressure) => {
    let count = 0;
    const unique = (): Record<string, string> =>
      Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`x-${count++}-${at}`, 'v'.repeat(60)]));
    return target.again(4 * pressure, async (loop) => {
      if (loop % 2 === 0) {
        const socket = await target.dial();
        if (socket === undefined) return target.sleep(100);
        const answers = new Http1Answers(target, socket);
        for (let call = 0; call < 50 && !target.isOver; call++) {
          const fields = call === 49 ? { 'x-long': 'v'.repeat(70_000) } : unique();
          if (!(await sent(socket, requestHead(target, 'GET', '/v2/health/live', fields)))) break;
          if ((await answers.next()) === undefined) break;
        }
        target.hangUp(socket);
        return;
      }
      const connection = await Http2Attacker.open(target, target.location.ports.http);
      if (connection === undefined) return target.sleep(100);
      for (let call = 0; call < 50 && !target.isOver && !connection.isClosed; call++) {
        const id = connection.open(restFields(target, 'GET', '/v2/health/live', Object.entries(unique())), true);
        await Promise.race([connection.finished(id), target.sleep(1000)]);
      }
      target.hangUp(connection.socket);
    });
  },
};
