import { reset } from '@millrace/http2/testing';
import type { Attack } from '../attack.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { inferMethod } from '../raw/infer-message.ts';
import { slowMessage } from '../raw/requests.ts';

export const cancelledRequests: Attack = {
  name: 'cancelled-requests',
  row: 'Requests for a slow model are cancelled as soon as they are sent, at a rate below the limit of resets, on many connections: work must not pile up.',
  expected: 'harmless',
  run: (target, pressure) =>
    target.again(20 * pressure, async () => {
      const connection = await Http2Attacker.open(target);
      if (connection === undefined) return target.sleep(100);
      while (!target.isOver && !connection.isClosed) {
        for (let call = 0; call < 4; call++) {
          const id = connection.open(grpcFields(target, inferMethod));
          await connection.body(id, slowMessage(500), true);
          if (!connection.isClosed) connection.socket.write(reset(id));
        }
        await target.sleep(100);
      }
    }),
};
