import { floods } from '@millrace/http/internal';
import { hello } from '@millrace/http2/testing';
import type { Attack } from '../attack.ts';
import { Http2Attacker } from '../raw/http2.ts';
import { sent } from '../target.ts';

/** A flood that took this much was not stopped. */
const bytesMax = 64 * 1024 * 1024;

export const http2Floods: Attack = {
  name: 'http2-floods',
  row: 'Rapid reset, streams made to be reset, CONTINUATION, HPACK, SETTINGS, PING, PRIORITY, empty DATA, padding and window update floods, each begun anew when it is cut off.',
  expected: 'refused',
  secondsMin: 6,
  run: (target, pressure) => {
    let next = 0;
    return target.again(4 * pressure, async () => {
      const flood = floods[next++ % floods.length];
      const connection = await Http2Attacker.open(target, target.location.ports.http);
      if (flood === undefined || connection === undefined) return target.sleep(50);
      let bytes = hello.length;
      for (let round = 0; !target.isOver && bytes < bytesMax; round++) {
        const part = flood.next(round);
        bytes += part.length;
        if (!(await sent(connection.socket, part))) break;
        if (round % 8 === 0) await new Promise(setImmediate);
      }
      if (bytes >= bytesMax && !connection.isClosed) target.fate.harm(`not cut off: ${flood.name}`);
      target.hangUp(connection.socket);
    });
  },
};
