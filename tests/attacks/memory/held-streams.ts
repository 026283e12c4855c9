import type { Attack } from '../attack.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { streamMethod } from '../raw/infer-message.ts';
import { growMessage } from '../raw/requests.ts';
import { closed } from '../target.ts';

const methods = [
  '/grpc.health.v1.Health/Watch',
  '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
  streamMethod,
];

export const heldStreams: Attack = {
  name: 'held-streams',
  row: 'Thousands of health watches, reflection streams and inference streams with unread answers of 4 MB stay open.',
  expected: 'refused',
  secondsMin: 6,
  run: (target, pressure) =>
    target.again(12 * pressure, async (loop) => {
      const connection = await Http2Attacker.open(target, target.location.ports.grpc, { windowBytes: 1 });
      if (connection === undefined) return target.sleep(100);
      const method = methods[loop % methods.length] as string;
      for (let stream = 0; stream < 250 && !connection.isClosed; stream++) {
        const id = connection.open(grpcFields(target, method));
        if (method === streamMethod) await connection.body(id, growMessage(4 * 1024 * 1024), false);
        else if (loop % 3 === 0) await connection.body(id, Buffer.alloc(5), true);
      }
      await Promise.race([closed(connection.socket), target.sleep(60_000)]);
      target.hangUp(connection.socket);
    }),
};
