import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { Http2Attacker, restFields } from '../raw/http2.ts';
import { inferPath } from '../raw/requests.ts';

const partBytes = 120 * 1024 * 1024;
const part = Buffer.alloc(1024 * 1024, '0');

export const silentBodies: Attack = {
  name: 'silent-bodies',
  row: 'Nine HTTP/2 requests without a content-length fill the memory for bodies and then fall silent; every other REST request is refused.',
  expected: 'refused',
  isSharedInShort: true,
  establishedMin: 9,
  secondsMin: 8,
  run: (target, pressure) =>
    target.again(9 * pressure, async () => {
      const connection = await Http2Attacker.open(target, target.location.ports.http);
      if (connection === undefined) return target.sleep(100);
      const id = connection.open(restFields(target, 'POST', inferPath(doubleModel)));
      for (let bytes = 0; bytes < partBytes && !target.isOver; bytes += part.length) {
        if (!(await connection.body(id, part, false))) break;
      }
      target.nowEstablished();
      while (!target.isOver && !connection.isClosed && !connection.isOver(id)) await target.sleep(50);
      target.hangUp(connection.socket);
    }),
};
