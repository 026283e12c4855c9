import type { Attack } from '../attack.ts';
import { slowModel } from '../attack-models.ts';
import { Http1Answers, rawJsonRequest } from '../raw/http1.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { inferMethod } from '../raw/infer-message.ts';
import { inferPath, slowMessage } from '../raw/requests.ts';
import { sent } from '../target.ts';

export const manySmallRequests: Attack = {
  name: 'many-small-requests',
  row: 'One address queues thousands of requests for a slow model, over REST and gRPC, until its share of the queue is full.',
  expected: 'refused',
  run: async (target, pressure) => {
    const json = JSON.stringify({ inputs: [{ name: 'steps', datatype: 'INT64', shape: [1], data: [200] }] });
    const request = rawJsonRequest(target, inferPath(slowModel), json);
    await target.again(24 * pressure, async (loop) => {
      if (loop % 4 === 0) {
        const socket = await target.dial();
        if (socket === undefined) return target.sleep(100);
        const answers = new Http1Answers(target, socket);
        while (!target.isOver && (await sent(socket, request)) && (await answers.next()) !== undefined);
        target.hangUp(socket);
        return;
      }
      const connection = await Http2Attacker.open(target);
      if (connection === undefined) return target.sleep(100);
      const call = async (): Promise<void> => {
        while (!target.isOver && !connection.isClosed) {
          const id = connection.open(grpcFields(target, inferMethod));
          const finished = connection.finished(id);
          await connection.body(id, slowMessage(200), true);
          await Promise.race([finished, target.sleep(60_000)]);
        }
      };
      await Promise.all(Array.from({ length: 240 }, call));
      target.hangUp(connection.socket);
    });
  },
};
