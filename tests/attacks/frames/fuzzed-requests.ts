import { headers, hello } from '@millrace/http2/testing';
import { FuzzRandom } from '../../fuzz/random.ts';
import type { Attack } from '../attack.ts';
import { doubleModel, textsModel } from '../attack-models.ts';
import { data } from '../raw/frame-rounds.ts';
import { Http1Answers, rawJsonRequest, requestHead } from '../raw/http1.ts';
import { grpcFields, restFields } from '../raw/http2.ts';
import { envelope, inferMessage, inferMethod } from '../raw/infer-message.ts';
import { inferPath } from '../raw/requests.ts';
import type { Target } from '../target.ts';

function seeds(target: Target): readonly Buffer[] {
  const tensor = { name: 'x', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] };
  const json = JSON.stringify({ id: 'f', parameters: { priority: 1 }, inputs: [tensor], outputs: [{ name: 'y' }] });
  const message = envelope(
    inferMessage({
      model: doubleModel,
      id: 'f',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 4] }],
      raw: [new Uint8Array(16)],
      classified: [{ name: 'y', classes: 2 }],
    }),
  );
  const texts = JSON.stringify({ inputs: [{ name: 'x', datatype: 'BYTES', shape: [2], data: ['a', 'é'] }] });
  return [
    rawJsonRequest(target, inferPath(doubleModel), json),
    rawJsonRequest(target, inferPath(textsModel), texts),
    Buffer.from(requestHead(target, 'GET', '/v2/models/stats')),
    Buffer.concat([hello, headers(1, grpcFields(target, inferMethod), false), data(1, message, true)]),
    Buffer.concat([
      hello,
      headers(1, restFields(target, 'POST', inferPath(doubleModel)), false),
      data(1, Buffer.from(json), true),
    ]),
    Buffer.concat([
      Buffer.from(
        requestHead(target, 'POST', inferMethod, {
          'content-type': 'application/proto',
          'content-length': message.length - 5,
        }),
      ),
      message.subarray(5),
    ]),
  ];
}

export const fuzzedRequests: Attack = {
  name: 'fuzzed-requests',
  row: 'Thousands of requests over HTTP/1.1, HTTP/2, gRPC and Connect, each with a few bytes changed, cut or doubled.',
  expected: 'refused',
  run: async (target, pressure) => {
    const originals = seeds(target);
    const random = new FuzzRandom(target.location.seed);
    await target.again(16 * pressure, async () => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(50);
      const answers = new Http1Answers(target, socket);
      for (const piece of random.cut(random.mutate(random.pick(originals)))) socket.write(piece);
      await Promise.race([answers.next(), target.sleep(30)]);
      target.hangUp(socket);
    });
  },
};
