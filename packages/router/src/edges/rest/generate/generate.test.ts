import { injectStreaming } from '@millrace/http';
import { InferenceError, takeBytesElements } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { catalogueOf, EchoDataPlane, echoEdge, viewOf } from '../testing/echo-double.ts';

const text = { name: 'text', datatype: 'BYTES', shape: [1] } as const;
const numbers = { name: 'numbers', datatype: 'INT32', shape: [-1, 2, -1], isOptional: true } as const;
const views = [
  viewOf('m', { inputs: [text, numbers], outputs: [text, numbers], isBatched: false }),
  viewOf('g', { inputs: [text], outputs: [text], isBatched: false, isGenerator: true }),
];

function generate(body: unknown, target = '/v2/models/m/generate', headers: [string, string][] = []) {
  const edge = echoEdge({ catalogue: catalogueOf(...views) });
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const reply = edge.call({ method: 'POST', target, headers, body: bytes });
  return { ...edge, reply };
}

test('fields named as inputs become tensors, and outputs come back by name, single ones without a list', async () => {
  const { reply, dataPlane } = generate({ id: 'a', text: 'Once "upon"', numbers: [1, 2, 3, 4] });
  expect(JSON.parse((await reply).text())).toEqual({
    model_name: 'm',
    model_version: '1',
    id: 'a',
    text: 'Once "upon"',
    numbers: [1, 2, 3, 4],
  });
  expect(dataPlane.requests[0]?.inputs.map(({ shape }) => shape)).toEqual([[1], [1, 2, 2]]);
  expect([dataPlane.answers, dataPlane.releases]).toEqual([1, 1]);
});

test('other fields are parameters, also those in the object parameters; reserved ones are for the server', async () => {
  const { reply, dataPlane } = generate({
    text: 'a',
    stream: false,
    parameters: { top_k: 3, priority: 2, timeout: 5000, numbers: [1, 2] },
  });
  expect((await reply).status).toBe(200);
  const [request] = dataPlane.requests;
  expect(Object.fromEntries(request?.target.parameters ?? [])).toEqual({ stream: false, top_k: 3 });
  expect(request?.origin).toMatchObject({ priority: 2, queueTimeoutMs: 5 });
  expect(request?.inputs.map(({ name }) => name)).toEqual(['text', 'numbers']);
});

test('a generator takes lists and objects as parameters too', async () => {
  const { reply, dataPlane } = generate({ text: 'a', stop: ['b'], top_k: 3 }, '/v2/models/g/versions/1/generate');
  expect((await reply).status).toBe(200);
  const [request] = dataPlane.requests;
  const sampling = request?.inputs.find(({ name }) => name === 'sampling_parameters');
  expect(Buffer.from(takeBytesElements(sampling?.data as Uint8Array)?.[0] ?? []).toString()).toBe('{"stop":["b"]}');
  expect(Object.fromEntries(request?.target.parameters ?? [])).toEqual({ top_k: 3 });
});

test('a misspelt input is named, and the one that is missing', async () => {
  const { reply, dataPlane } = generate({ txt: 'a', top_k: 3 }, '/v2/models/g/generate');
  expect([(await reply).status, JSON.parse((await reply).text())]).toEqual([
    400,
    {
      error:
        "the body has no field 'text', which model 'g' needs as input; 'txt', 'top_k' are no inputs of it; did you mean 'text' by 'txt'?",
    },
  ]);
  expect(dataPlane.requests).toEqual([]);
});

test('a body of more than http.jsonHeadBytesMax is refused, and so is an object of too many keys: it is read at once', async () => {
  const large = await generate({ text: 'a'.repeat(128 * 1024) }).reply;
  expect([large.status, large.text()]).toEqual([413, expect.stringContaining('raise http.jsonHeadBytesMax')]);
  const keys = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${index}`, 1]));
  const { reply, dataPlane } = generate({ text: 'a', ...keys });
  expect([(await reply).status, (await reply).text()]).toEqual([413, expect.stringContaining('256')]);
  expect(dataPlane.requests).toEqual([]);
});

test.each([
  ['{', 400, /failed to parse the request JSON buffer/],
  ['[]', 400, /the body must be a JSON object/],
  ['{"parameters": 1}', 400, /"parameters" must be a JSON object/],
  ['{"id": 1}', 400, /"id" must be a string/],
  ['{"text": "a", "stop": ["b"]}', 400, /parameter 'stop' must be a string, a number or a boolean/],
  ['{"text": [["a"]]}', 400, /input 'text' must be .* or a flat list/],
  ['{"text": ["a", "b"]}', 400, /input 'text' has 2 elements, which do not fit its shape \[1\]/],
  ['{"numbers": [1, 2, 3]}', 400, /input 'numbers' has 3 elements/],
  ['{"numbers": ["x", "y"]}', 400, /numbers/],
])('%s is refused', async (body, status, message) => {
  for (const suffix of ['generate', 'generate_stream']) {
    const reply = await generate(body, `/v2/models/m/${suffix}`).reply;
    expect(reply.status).toBe(status);
    expect(JSON.parse(reply.text()).error).toMatch(message);
  }
});

test('a compressed body and an unknown model are refused', async () => {
  const packed = await generate('', '/v2/models/m/generate', [['content-encoding', 'gzip']]).reply;
  expect(JSON.parse(packed.text()).error).toMatch(/send the body uncompressed/);
  expect((await generate({}, '/v2/models/x/generate_stream').reply).status).toBe(404);
});

test('generate_stream sends each answer as an event', async () => {
  const { reply } = generate({ text: 'a' }, '/v2/models/m/generate_stream');
  const { status, headers, text: body } = await reply;
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  expect(body()).toBe('data: {"model_name":"m","model_version":"1","text":"a"}\n\n');
});

test('a failure before the first answer of generate_stream has its status', async () => {
  class FailingDataPlane extends EchoDataPlane {
    override infer(): Promise<never> {
      return Promise.reject(new InferenceError('model-full', 'the queue for m:1 is full (1 of 1 requests)'));
    }
  }
  const edge = echoEdge({ catalogue: catalogueOf(...views), dataPlane: new FailingDataPlane() });
  const body = Buffer.from('{"text": "a"}');
  const target = '/v2/models/m/generate_stream';
  const reply = await injectStreaming(edge.handler, {
    method: 'POST',
    target,
    body,
    onError: (error) => expect.unreachable(String(error)),
  });
  expect(reply.status).toBe(503);
});
