/**
 * ModelStreamInfer for callers without gRPC: gRPC-Web and Connect, over HTTP/1.1 and HTTP/2. A browser cannot send while it
 * receives: it sends its requests first, as one body, and has the answers one by one.
 */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { join } from 'node:path';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const path = '/inference.GRPCInferenceService/ModelStreamInfer';
const models = new ModelRepository().write('sum/1/model.onnx', binaryModel('Add'));
let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start([models.path]);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

interface ProtobufType {
  create(fields: object): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): unknown;
}
const protobuf = createRequire(import.meta.url)('protobufjs') as {
  Root: new () => {
    resolvePath: (from: string, to: string) => string;
    loadSync(file: string, options: object): { lookupType(name: string): ProtobufType };
  };
};
const root = new protobuf.Root();
root.resolvePath = (_, file) => join(repositoryRoot, 'proto', file);
const types = root.loadSync('inference/grpc_service.proto', { keepCase: true });
const requestType = types.lookupType('inference.ModelInferRequest');
const responseType = types.lookupType('inference.ModelStreamInferResponse');

function requestOf(id: string, value: number, model = 'sum'): Uint8Array {
  const tensor = (name: string) => ({ name, datatype: 'FP32', shape: [1, 2] });
  const raw = new Uint8Array(Float32Array.of(value, value).buffer);
  return requestType
    .encode(
      requestType.create({
        model_name: model,
        id,
        inputs: [tensor('left'), tensor('right')],
        raw_input_contents: [raw, raw],
      }),
    )
    .finish();
}

function framed(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

interface StreamAnswer {
  readonly id: string;
  readonly sum: number | undefined;
  readonly error: string;
}

/** The messages of an answer, and what ends it. */
function unframed(bytes: Buffer): { readonly answers: StreamAnswer[]; readonly end: string } {
  const answers: StreamAnswer[] = [];
  let end = '';
  for (let at = 0; at + 5 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    const message = bytes.subarray(at + 5, at + 5 + length);
    if (message.length < length) break;
    if ((bytes[at] as number) > 1) end = message.toString();
    else answers.push(answerFrom(message));
    at += 5 + length;
  }
  return { answers, end };
}

function answerFrom(message: Uint8Array): StreamAnswer {
  const { error_message, infer_response } = responseType.toObject(responseType.decode(message), { defaults: true }) as {
    error_message: string;
    infer_response: { id: string; raw_output_contents: Buffer[] };
  };
  const output = infer_response.raw_output_contents[0];
  return { id: infer_response.id, sum: output && Buffer.from(output).readFloatLE(0), error: error_message };
}

const requests = Buffer.concat([
  framed(requestOf('a', 1)),
  framed(requestOf('b', 2, 'nobody')),
  framed(requestOf('c', 3)),
]);
const expected = [
  { id: 'a', sum: 2, error: '' },
  { id: 'b', sum: undefined, error: expect.stringContaining("unknown model: 'nobody'") },
  { id: 'c', sum: 6, error: '' },
];

describe('requests in one body, as a browser sends them', () => {
  test.each(['application/grpc-web', 'application/grpc-web+proto', 'application/grpc-web-text'])('%s', async (type) => {
    const isText = type.endsWith('text');
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': type, 'x-grpc-web': '1' },
      body: isText ? requests.toString('base64') : requests,
    });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^application\/grpc-web/),
    ]);
    const body = Buffer.from(await response.arrayBuffer());
    const { answers, end } = unframed(isText ? fromBase64Parts(body.toString()) : body);
    expect(answers).toEqual(expected);
    expect(end).toMatch(/^grpc-status: ?0\r\n/m);
  });

  test('application/connect+proto', async () => {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/connect+proto', 'connect-protocol-version': '1' },
      body: requests,
    });
    const { answers, end } = unframed(Buffer.from(await response.arrayBuffer()));
    expect([response.status, answers, JSON.parse(end)]).toEqual([200, expected, {}]);
  });

  test('one that is told to fail by its status ends with it, after the answers before', async () => {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web+proto', triton_grpc_error: 'true' },
      body: requests,
    });
    const { answers, end } = unframed(Buffer.from(await response.arrayBuffer()));
    expect(answers).toEqual(expected.slice(0, 1));
    expect(end).toMatch(/^grpc-status: ?5\r\n/m);
    expect(end).toContain("unknown model: 'nobody'");
  });

  test('none at all is an empty stream', async () => {
    const headers = { 'content-type': 'application/grpc-web+proto' };
    const response = await fetch(`${server.url}${path}`, { method: 'POST', headers });
    const { answers, end } = unframed(Buffer.from(await response.arrayBuffer()));
    expect([answers, end]).toEqual([[], expect.stringMatching(/^grpc-status: ?0\r\n/m)]);
  });
});

/** Pieces of base64, each with padding of its own. */
function fromBase64Parts(text: string): Buffer {
  return Buffer.concat((text.match(/[^=]+=*/g) ?? []).map((part) => Buffer.from(part, 'base64')));
}

describe('a caller that can send while it receives has each answer before it sends the next request', () => {
  test('over HTTP/2', async () => {
    const session = connectHttp2(server.grpcUrl);
    const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc-web+proto' });
    let received = Buffer.alloc(0);
    stream.on('data', (data: Buffer) => {
      received = Buffer.concat([received, data]);
    });
    for (const [index, id] of ['a', 'b', 'c'].entries()) {
      stream.write(framed(requestOf(id, index)));
      while (unframed(received).answers.length <= index) await once(stream, 'data');
    }
    stream.end();
    await once(stream, 'end');
    const { answers, end } = unframed(received);
    expect(answers.map(({ id, sum }) => [id, sum])).toEqual([
      ['a', 0],
      ['b', 2],
      ['c', 4],
    ]);
    expect(end).toMatch(/^grpc-status: ?0\r\n/m);
    session.close();
  });

  test('over HTTP/1.1, in chunks', async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    let received = '';
    socket.setEncoding('latin1').on('data', (data: string) => {
      received += data;
    });
    const seen = async (text: string) => {
      while (!received.includes(text)) await once(socket, 'data');
    };
    const chunk = (bytes: Buffer) =>
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/grpc-web+proto\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    for (const id of ['first-id', 'second-id', 'third-id']) {
      socket.write(chunk(framed(requestOf(id, 1))));
      await seen(id);
    }
    socket.write('0\r\n\r\n');
    await seen('grpc-status: 0');
    socket.destroy();
  });
});
