/** The server a user would write in an afternoon: fastify, the model in the same process, one run a request. */
import Fastify from 'fastify';
import { InferenceSession, Tensor } from 'onnxruntime-node';

const modelPath = process.argv[2] ?? '';
const session = await InferenceSession.create(modelPath, { intraOpNumThreads: 1 });
const inputName = session.inputNames[0] as string;
const outputName = session.outputNames[0] as string;

const app = Fastify({ bodyLimit: 64 * 1024 * 1024 });
app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

interface JsonRequest {
  readonly inputs: readonly { readonly shape: readonly number[]; readonly data: readonly number[] }[];
}

app.post('/v2/models/:model/infer', async (request, reply) => {
  if (!Buffer.isBuffer(request.body)) {
    const input = (request.body as JsonRequest).inputs[0] as JsonRequest['inputs'][number];
    const results = await session.run({
      [inputName]: new Tensor('float32', Float32Array.from(input.data), input.shape),
    });
    const { dims, data } = results[outputName] as Tensor;
    const output = { name: outputName, datatype: 'FP32', shape: dims, data: Array.from(data as Float32Array) };
    return { model_name: 'mlp', model_version: '1', outputs: [output] };
  }
  const { body } = request;
  const headerBytes = Number(request.headers['inference-header-content-length']);
  const header = JSON.parse(body.toString('utf8', 0, headerBytes)) as { inputs: { shape: number[] }[] };
  const shape = header.inputs[0]?.shape as number[];
  const data = new Float32Array(new Uint8Array(body.subarray(headerBytes)).buffer);
  const results = await session.run({ [inputName]: new Tensor('float32', data, shape) });
  const output = results[outputName] as Tensor;
  const values = output.data as Float32Array;
  const bytes = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  const answer = Buffer.from(
    JSON.stringify({
      model_name: 'mlp',
      model_version: '1',
      outputs: [
        { name: outputName, datatype: 'FP32', shape: output.dims, parameters: { binary_data_size: bytes.byteLength } },
      ],
    }),
  );
  reply.header('content-type', 'application/octet-stream');
  reply.header('inference-header-content-length', String(answer.byteLength));
  return reply.send(Buffer.concat([answer, bytes]));
});

await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address() as { port: number };
process.stdout.write(`listening on ${address.port}\n`);
process.on('SIGTERM', () => process.exit(0));
