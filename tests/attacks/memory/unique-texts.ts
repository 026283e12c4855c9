import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { envelope, inferMessage, inferMethod } from '../raw/infer-message.ts';

const numbers = 2 * 1024 * 1024;
const raw = new Uint8Array(numbers * 4);

export const uniqueTexts: Attack = {
  name: 'unique-texts',
  row: 'Every gRPC message of 8 MB brings an id, a version or a model name of its own, and a memo of texts keeps the whole message for each.',
  expected: 'harmless',
  run: (target, pressure) => {
    let count = 0;
    return target.again(2 * pressure, async () => {
      const connection = await Http2Attacker.open(target, target.location.ports.grpc, { isOpenWide: true });
      if (connection === undefined) return target.sleep(100);
      for (let call = 0; call < 100 && !target.isOver && !connection.isClosed; call++) {
        const unique = `${target.location.seed}-${process.pid}-${count++}`;
        const message = inferMessage({
          model: call % 3 === 1 ? `model-${unique}` : doubleModel,
          ...(call % 3 === 2 ? { version: unique.slice(0, 60) } : {}),
          id: `id-${unique}`,
          inputs: [{ name: call % 5 === 4 ? `x-${unique}` : 'x', datatype: 'FP32', shape: [1, numbers] }],
          raw: [raw],
        });
        const id = connection.open(grpcFields(target, inferMethod));
        const finished = connection.finished(id);
        await connection.body(id, envelope(message), true);
        await Promise.race([finished, target.sleep(5000)]);
      }
      target.hangUp(connection.socket);
    });
  },
};
