import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { requestHead } from '../raw/http1.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { announcement, inferMethod } from '../raw/infer-message.ts';
import { growRequest, inferPath } from '../raw/requests.ts';

export const dyingConnections: Attack = {
  name: 'dying-connections',
  row: 'A thousand connections die in the middle of a head, a body, a message or an answer.',
  expected: 'harmless',
  run: (target, pressure) =>
    target.again(50 * pressure, async (loop) => {
      const kind = loop % 4;
      if (kind === 0) {
        const connection = await Http2Attacker.open(target);
        if (connection === undefined) return target.sleep(50);
        const id = connection.open(grpcFields(target, inferMethod));
        await connection.body(id, Buffer.concat([announcement(100_000), Buffer.alloc(5000)]), false);
        await target.sleep(10);
        return target.hangUp(connection.socket);
      }
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(50);
      const fields = { 'content-type': 'application/json', 'content-length': 1_000_000 };
      if (kind === 1) socket.write('POST /v2/models/');
      else if (kind === 2) socket.write(`${requestHead(target, 'POST', inferPath(doubleModel), fields)}{"inputs":[`);
      else socket.write(growRequest(target, 1_000_000));
      await target.sleep(10);
      if (kind !== 2) socket.resetAndDestroy();
      target.hangUp(socket);
    }),
};
