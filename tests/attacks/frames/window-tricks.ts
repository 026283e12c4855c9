import { settings, windowUpdate } from '@millrace/http2/testing';
import type { Attack } from '../attack.ts';
import { growModel } from '../attack-models.ts';
import { Http2Attacker, restFields } from '../raw/http2.ts';
import { growJson, inferPath } from '../raw/requests.ts';
import { sent } from '../target.ts';

const initialWindow = 4;

export const windowTricks: Attack = {
  name: 'window-tricks',
  row: 'Answers of 8 MB are asked for with no window, windows opened a byte at a time, and an initial window that goes up and down for all streams at once.',
  expected: 'refused',
  secondsMin: 6,
  run: (target, pressure) =>
    target.again(6 * pressure, async (loop) => {
      const connection = await Http2Attacker.open(target, target.location.ports.http, { windowBytes: 0 });
      if (connection === undefined) return target.sleep(100);
      const streams = Array.from({ length: 8 }, () =>
        connection.open(restFields(target, 'POST', inferPath(growModel))),
      );
      for (const id of streams) await connection.body(id, Buffer.from(growJson(8 * 1024 * 1024)), true);
      for (let round = 0; !target.isOver && !connection.isClosed; round++) {
        if (loop % 3 === 1) for (const id of streams) await sent(connection.socket, windowUpdate(id, 1));
        if (loop % 3 === 2) await sent(connection.socket, settings([initialWindow, round % 2 === 0 ? 65_535 : 0]));
        await target.sleep(loop % 3 === 0 ? 200 : 5);
        if (streams.every((id) => connection.isOver(id))) break;
      }
      target.hangUp(connection.socket);
    }),
};
