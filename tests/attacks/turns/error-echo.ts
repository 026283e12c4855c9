import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { Http1Answers, rawJsonRequest } from '../raw/http1.ts';
import { grpcFields, Http2Attacker } from '../raw/http2.ts';
import { envelope, inferMessage, inferMethod } from '../raw/infer-message.ts';
import { inferPath } from '../raw/requests.ts';
import type { Target } from '../target.ts';

/** Bytes of an answer that need no explanation: a head and a sentence. */
const answerBytesMax = 8192;
const long = 'n'.repeat(60_000);

function requests(target: Target): readonly Buffer[] {
  const json = (body: object): Buffer => rawJsonRequest(target, inferPath(doubleModel), JSON.stringify(body));
  const tensor = { name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] };
  return [
    json({ inputs: [{ ...tensor, name: long }] }),
    json({ inputs: [{ ...tensor, datatype: long }] }),
    json({ inputs: [{ ...tensor, data: [long] }] }),
    json({ inputs: [tensor], outputs: [{ name: long }] }),
    json({ inputs: [tensor], parameters: { [long]: {} } }),
    json({ inputs: [{ ...tensor, shape: Array.from({ length: 20_000 }, () => 1) }] }),
    json({ inputs: Array.from({ length: 200 }, () => ({ ...tensor, name: 'n'.repeat(300) })) }),
    json({ inputs: [tensor], [long]: 1 }),
    rawJsonRequest(target, `/v2/models/${'m'.repeat(8000)}/infer`, '{}'),
    rawJsonRequest(target, inferPath(doubleModel), `{"inputs":${long}`),
  ];
}

export const errorEcho: Attack = {
  name: 'error-echo',
  row: 'Errors repeat what was wrong with a request whole: 60 KB in, 63 MB out.',
  expected: 'refused',
  run: async (target, pressure) => {
    const all = requests(target);
    let next = 0;
    const grpc = async (): Promise<void> => {
      const connection = await Http2Attacker.open(target);
      if (connection === undefined) return target.sleep(100);
      const tensor = { name: long, datatype: 'FP32', shape: [1, 1] };
      const message = inferMessage({ model: doubleModel, inputs: [tensor], raw: [new Uint8Array(4)] });
      const id = connection.open(grpcFields(target, inferMethod));
      const finished = connection.finished(id);
      await connection.body(id, envelope(message), true);
      await Promise.race([finished, target.sleep(10_000)]);
      if (connection.receivedBytes > answerBytesMax) {
        target.fate.harm(`a gRPC error of ${connection.receivedBytes} bytes`);
      }
      target.hangUp(connection.socket);
    };
    await target.again(4 * pressure, async (loop) => {
      if (loop === 1) return grpc();
      const at = next++ % all.length;
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(100);
      const answers = new Http1Answers(target, socket);
      socket.write(all[at] as Buffer);
      await Promise.race([answers.next(), target.sleep(10_000)]);
      if (answers.receivedBytes > answerBytesMax) {
        target.fate.harm(
          `an error of ${answers.receivedBytes} bytes for request ${at} of ${(all[at] as Buffer).length}`,
        );
      }
      target.hangUp(socket);
    });
  },
};
