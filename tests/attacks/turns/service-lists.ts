import type { Attack } from '../attack.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { envelope, messageField } from '../raw/infer-message.ts';

const fileContainingSymbol = 4;
const calls: readonly (readonly [method: string, message: Uint8Array])[] = [
  [
    '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
    messageField(fileContainingSymbol, 'inference.GRPCInferenceService'),
  ],
  ['/grpc.health.v1.Health/List', Buffer.alloc(0)],
  ['/inference.GRPCInferenceService/ModelStatistics', Buffer.alloc(0)],
];
const callsPerConnection = 50;

export const serviceLists: Attack = {
  name: 'service-lists',
  row: 'Reflection, Health.List and ModelStatistics are called 200 times at once: encoded for each call in the turn it came, they held the event loop for 100 to 250 ms.',
  expected: 'harmless',
  run: (target, pressure) =>
    target.again(4 * pressure, async () => {
      const connection = await Http2Attacker.open(target, target.location.ports.grpc, { isOpenWide: true });
      if (connection === undefined) return target.sleep(100);
      for (let round = 0; !target.isOver && !connection.isClosed; round++) {
        const [method, message] = calls[round % calls.length] as (typeof calls)[number];
        const answered: Promise<unknown>[] = [];
        connection.socket.cork();
        for (let call = 0; call < callsPerConnection; call++) {
          const id = connection.open(grpcFields(target, method));
          answered.push(connection.finished(id));
          void connection.body(id, envelope(message), true);
        }
        connection.socket.uncork();
        await Promise.race([Promise.all(answered), target.sleep(5000)]);
      }
      target.hangUp(connection.socket);
    }),
};
