import type { Attack } from '../attack.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { inferMethod } from '../raw/infer-message.ts';
import { growMessage } from '../raw/requests.ts';

const answerBytes = 900 * 1024;
const callsPerConnection = 4;

export const compressedAnswers: Attack = {
  name: 'compressed-answers',
  row: 'Small gRPC calls ask for answers of 900 KB in gzip, sixteen at once: each was compressed in one turn of the event loop.',
  expected: 'harmless',
  run: (target, pressure) =>
    target.again(4 * pressure, async () => {
      const connection = await Http2Attacker.open(target, target.location.ports.grpc, { isOpenWide: true });
      if (connection === undefined) return target.sleep(100);
      const fields = grpcFields(target, inferMethod, [
        ['grpc-encoding', 'gzip'],
        ['grpc-accept-encoding', 'gzip'],
      ]);
      while (!target.isOver && !connection.isClosed) {
        const answered = Array.from({ length: callsPerConnection }, () => {
          const id = connection.open(fields);
          const finished = connection.finished(id);
          void connection.body(id, growMessage(answerBytes), true);
          return finished;
        });
        await Promise.race([Promise.all(answered), target.sleep(5000)]);
      }
      target.hangUp(connection.socket);
    }),
};
