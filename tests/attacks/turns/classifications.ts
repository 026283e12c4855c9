import type { Attack } from '../attack.ts';
import { classesCount, classesModel } from '../attack-models.ts';
import { oneAnswer, rawJsonRequest } from '../raw/http1.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { envelope, inferMessage, inferMethod } from '../raw/infer-message.ts';
import { inferPath } from '../raw/requests.ts';

export const classifications: Attack = {
  name: 'classifications',
  row: 'A small request asks for all of a million classes in order; sorting and writing them stops the event loop for seconds.',
  expected: 'refused',
  run: async (target, pressure) => {
    const json = JSON.stringify({
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }],
      outputs: [{ name: 'y', parameters: { classification: classesCount } }],
    });
    const request = rawJsonRequest(target, inferPath(classesModel), json);
    const message = inferMessage({
      model: classesModel,
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 1] }],
      raw: [new Uint8Array(Float32Array.of(1).buffer)],
      classified: [{ name: 'y', classes: classesCount }],
    });
    await target.again(4 * pressure, async (loop) => {
      if (loop % 2 === 0) {
        await oneAnswer(target, request);
        return;
      }
      const connection = await Http2Attacker.open(target, target.location.ports.grpc, { isOpenWide: true });
      if (connection === undefined) return target.sleep(100);
      const id = connection.open(grpcFields(target, inferMethod));
      const finished = connection.finished(id);
      await connection.body(id, envelope(message), true);
      await Promise.race([finished, target.sleep(20_000)]);
      target.hangUp(connection.socket);
    });
  },
};
