import { gunzipSync, gzipSync, inflateSync } from 'node:zlib';
import { encodeBytesElements, InferenceError } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { binaryRequest, bytesOf, catalogueOf, echoEdge, jsonRequest, viewOf } from './echo-double.ts';

const floats = bytesOf(new Float32Array([1.5, -2]));
const longs = bytesOf(new BigInt64Array([2n ** 62n + 1n]));

function input(name: string, datatype: string, shape: readonly number[], rest: object) {
  return { name, datatype, shape, ...rest };
}
const binary = (size: number) => ({ parameters: { binary_data_size: size } });

describe('requests', () => {
  test('JSON data reaches the data plane as little-endian bytes, flat or nested, in any key order', async () => {
    const { call, dataPlane } = echoEdge();
    const flat = await call(jsonRequest({ id: 'r1', inputs: [input('x', 'FP32', [1, 2], { data: [1.5, -2] })] }));
    expect(flat.status).toBe(200);
    await call(jsonRequest('{"inputs":[{"data":[[1.5,-2]],"shape":[1,2],"name":"x","datatype":"FP32"}]}'));
    for (const request of dataPlane.requests) {
      expect(request.inputs).toMatchObject([{ name: 'x', datatype: 'FP32', shape: [1, 2] }]);
      expect(Buffer.compare(request.inputs[0]?.data ?? floats.subarray(1), floats)).toBe(0);
    }
    expect(dataPlane.requests.map(({ id }) => id)).toEqual(['r1', '']);
  });

  test('binary data reaches the data plane as views of the body', async () => {
    const { call, dataPlane } = echoEdge();
    const request = binaryRequest(
      { inputs: [input('a', 'FP32', [2], binary(8)), input('b', 'INT64', [1], binary(8))] },
      floats,
      longs,
    );
    expect((await call(request)).status).toBe(200);
    const inputs = dataPlane.requests[0]?.inputs ?? [];
    expect(inputs.map(({ data }) => data.buffer === request.body.buffer)).toEqual([true, true]);
    expect(Buffer.compare(inputs[1]?.data ?? floats, longs)).toBe(0);
  });

  test('JSON and binary inputs may alternate', async () => {
    const { call, dataPlane } = echoEdge();
    await call(
      binaryRequest(
        {
          inputs: [
            input('a', 'FP32', [2], binary(8)),
            input('b', 'INT64', [2], { data: [1, -9] }),
            input('c', 'BYTES', [1], binary(6)),
          ],
        },
        floats,
        encodeBytesElements(['hi']),
      ),
    );
    expect(dataPlane.requests[0]?.inputs.map(({ data }) => data.byteLength)).toEqual([8, 16, 6]);
  });

  test('64-bit integers, NaN and infinities are exact', async () => {
    const { call } = echoEdge();
    const text =
      '{"inputs":[{"name":"i","datatype":"INT64","shape":[2],"data":[9223372036854775807,-9223372036854775808]},' +
      '{"name":"u","datatype":"UINT64","shape":[1],"data":[18446744073709551615]},' +
      '{"name":"f","datatype":"FP64","shape":[3],"data":[NaN,Infinity,-Infinity]}]}';
    const reply = await call(jsonRequest(text));
    expect(reply.text()).toContain('"data":[9223372036854775807,-9223372036854775808]');
    expect(reply.text()).toContain('"data":[18446744073709551615]');
    expect(reply.text()).toContain('"data":[NaN,Infinity,-Infinity]');
  });

  test('parameters, wanted outputs and the version are passed on; what the edge understood is not', async () => {
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(viewOf('a/b')) });
    const request = jsonRequest(
      '{"parameters":{"priority":3,"sequence_id":18446744073709551615,"note":"n","flag":true,"timeout":2500,"binary_data_output":false},' +
        '"outputs":[{"name":"y"},{"name":"x"}],"unknown":{"deep":[1]},' +
        '"inputs":[{"name":"x","datatype":"BOOL","shape":[],"data":[true],"extra":null},{"name":"y","datatype":"UINT8","shape":[0],"data":[]}]}',
    );
    const reply = await call({ ...request, target: '/v2/models/a%2Fb/versions/7/infer/' });
    expect(reply.status).toBe(200);
    expect(dataPlane.requests).toMatchObject([
      { model: 'a/b', version: '7', outputs: ['y', 'x'], timeoutMs: 2.5, inputs: [{ shape: [] }, { shape: [0] }] },
    ]);
    expect(Object.fromEntries(dataPlane.requests[0]?.parameters ?? [])).toEqual({
      priority: 3,
      sequence_id: 2n ** 64n - 1n,
      note: 'n',
      flag: true,
    });
  });

  test('the tighter of the two timeouts counts, and zero is none', async () => {
    const { call, dataPlane } = echoEdge();
    const request = (timeout: number) =>
      jsonRequest({ parameters: { timeout }, inputs: [input('x', 'INT8', [1], { data: [1] })] });
    await call({ ...request(9000), headers: [['millrace-timeout-ms', '4']] });
    await call({ ...request(9000), headers: [['millrace-timeout-ms', '40']] });
    await call({ ...request(0), headers: [['millrace-timeout-ms', '40']] });
    await call({ ...request(0), headers: [['millrace-timeout-ms', '0']] });
    expect(dataPlane.requests.map(({ timeoutMs }) => timeoutMs)).toEqual([4, 9, 40, undefined]);
  });

  test('content type does not matter', async () => {
    const { call } = echoEdge();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense']) {
      const request = jsonRequest({ inputs: [input('x', 'INT8', [1], { data: [1] })] });
      expect((await call({ ...request, headers: [['content-type', type]] })).status).toBe(200);
    }
  });

  test('packed bodies are unpacked; the header length is that of the JSON inside', async () => {
    const { call } = echoEdge();
    const plain = binaryRequest({ inputs: [input('x', 'FP32', [2], binary(8))] }, floats);
    const headers = [...(plain.headers ?? []), ['content-encoding', 'gzip'] as const];
    const reply = await call({ ...plain, headers, body: gzipSync(plain.body) });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.text()).outputs[0].data).toEqual([1.5, -2]);
  });
});

describe('raw binary requests', () => {
  const raw = (body: Uint8Array) => ({
    method: 'POST',
    target: '/v2/models/m/infer',
    headers: [['inference-header-content-length', '0']] as const,
    body,
  });

  test.each([
    ['a batched model takes one row', { shape: [-1, 2], datatype: 'FP32' }, true, floats, [1, 2]],
    ['a free dimension takes what is there', { shape: [-1, -1, 2], datatype: 'INT8' }, true, floats, [1, 4, 2]],
    ['a model without batches, too', { shape: [-1], datatype: 'UINT16' }, false, floats, [4]],
    [
      'an empty body fills a free dimension with nothing',
      { shape: [-1], datatype: 'UINT16' },
      false,
      new Uint8Array(0),
      [0],
    ],
  ] as const)('%s', async (_, spec, isBatched, body, shape) => {
    const view = viewOf('m', { inputs: [{ name: 'x', ...spec }], isBatched });
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(view) });
    const reply = await call(raw(body));
    expect(reply.status).toBe(200);
    expect(dataPlane.requests[0]?.inputs).toMatchObject([{ name: 'x', datatype: spec.datatype, shape }]);
    expect(reply.headers.get('content-type')).toBe(
      body.byteLength > 0 ? 'application/octet-stream' : 'application/json',
    );
    expect(Buffer.compare(reply.body.subarray(reply.body.byteLength - body.byteLength), body)).toBe(0);
  });

  test('BYTES take the whole body as one element', async () => {
    const view = viewOf('m', { inputs: [{ name: 'x', datatype: 'BYTES', shape: [-1, 1] }] });
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(view) });
    await call(raw(Buffer.from('a picture')));
    expect(dataPlane.requests[0]?.inputs).toEqual([
      { name: 'x', datatype: 'BYTES', shape: [1, 1], data: encodeBytesElements(['a picture']) },
    ]);
  });

  test.each([
    [
      'two inputs',
      [
        { name: 'x', datatype: 'FP32', shape: [-1] },
        { name: 'y', datatype: 'FP32', shape: [-1] },
      ],
      '2 inputs',
    ],
    ['two free dimensions', [{ name: 'x', datatype: 'FP32', shape: [-1, -1] }], 'more than one free dimension'],
    ['half an element', [{ name: 'x', datatype: 'FP64', shape: [-1, 3] }], 'not a multiple of the 24'],
    ['another size', [{ name: 'x', datatype: 'FP32', shape: [3] }], 'takes 12 bytes, and the body has 8'],
    ['several BYTES elements', [{ name: 'x', datatype: 'BYTES', shape: [2] }], 'more than one element'],
    ['a dimension of nothing', [{ name: 'x', datatype: 'FP32', shape: [-1, 0] }], 'not a multiple of the 0'],
  ] as const)('%s cannot be guessed from bytes', async (_, inputs, message) => {
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(viewOf('m', { inputs, isBatched: false })) });
    const reply = await call(raw(floats));
    expect(reply.status).toBe(400);
    expect(reply.text()).toContain(message);
    expect(dataPlane.requests).toEqual([]);
  });
});

describe('answers', () => {
  const two = [input('a', 'FP32', [1, 2], { data: [1.5, -2] }), input('b', 'INT64', [1], { data: [7] })];

  test('all JSON, exactly', async () => {
    const reply = await echoEdge().call(jsonRequest({ id: 'q', inputs: two }));
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(reply.headers.has('inference-header-content-length')).toBe(false);
    expect(reply.text()).toBe(
      '{"id":"q","model_name":"m","model_version":"1","outputs":[' +
        '{"name":"a","datatype":"FP32","shape":[1,2],"data":[1.5,-2.0]},' +
        '{"name":"b","datatype":"INT64","shape":[1],"data":[7]}]}',
    );
  });

  test('mixed, exactly: JSON, then the binary outputs without padding', async () => {
    const reply = await echoEdge().call(
      jsonRequest({ inputs: two, outputs: [{ name: 'b' }, { name: 'a', parameters: { binary_data: true } }] }),
    );
    const header =
      '{"model_name":"m","model_version":"1","outputs":[' +
      '{"name":"b","datatype":"INT64","shape":[1],"data":[7]},' +
      '{"name":"a","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}]}';
    expect(reply.headers.get('content-type')).toBe('application/octet-stream');
    expect(reply.headers.get('inference-header-content-length')).toBe(String(header.length));
    expect(Buffer.compare(reply.body, Buffer.concat([Buffer.from(header), floats]))).toBe(0);
  });

  test('binary_data_output speaks of outputs that are not listed, and of no others', async () => {
    const { call } = echoEdge();
    const parameters = { binary_data_output: true };
    const all = await call(jsonRequest({ inputs: two, parameters }));
    expect(all.headers.get('inference-header-content-length')).toBeDefined();
    const listed = await call(jsonRequest({ inputs: two, parameters, outputs: [{ name: 'a' }, { name: 'b' }] }));
    expect(listed.headers.get('content-type')).toBe('application/json');
  });

  test('binary outputs that are all empty leave a plain JSON answer', async () => {
    const reply = await echoEdge().call(
      jsonRequest({ inputs: [input('x', 'FP32', [0, 2], { data: [] })], parameters: { binary_data_output: true } }),
    );
    expect(reply.headers.get('content-type')).toBe('application/json');
    expect(JSON.parse(reply.text()).outputs).toEqual([
      { name: 'x', datatype: 'FP32', shape: [0, 2], parameters: { binary_data_size: 0 } },
    ]);
  });

  test('half precision goes out as binary and is refused as JSON', async () => {
    const { call, dataPlane } = echoEdge();
    const inputs = [input('x', 'FP16', [1], binary(2))];
    const half = Uint8Array.of(0, 60);
    expect((await call(binaryRequest({ inputs, parameters: { binary_data_output: true } }, half))).status).toBe(200);
    const refused = await call(binaryRequest({ inputs }, half));
    expect(refused.status).toBe(400);
    expect(refused.text()).toContain('Please use the binary data format for output x');
    expect(dataPlane.releases).toBe(2);
  });

  test('BYTES that are not UTF-8 go out as binary and are refused as JSON, and the next answer is intact', async () => {
    const { call, dataPlane } = echoEdge();
    const element = encodeBytesElements([Uint8Array.of(0xff)]);
    const refused = await call(binaryRequest({ inputs: [input('x', 'BYTES', [1], binary(5))] }, element));
    expect(refused.status).toBe(400);
    expect(refused.text()).toContain('binary_data');
    expect(dataPlane.releases).toBe(1);
    const next = await call(jsonRequest({ inputs: [input('x', 'BYTES', [1], { data: ['é'] })] }));
    expect(JSON.parse(next.text()).outputs[0].data).toEqual(['é']);
  });

  test('the answer is released once, whatever its form', async () => {
    const { call, dataPlane } = echoEdge({ limits: { compressBytesMin: 0 } });
    const request = (isBinary: boolean) => jsonRequest({ inputs: two, parameters: { binary_data_output: isBinary } });
    for (const isBinary of [false, true]) {
      await call(request(isBinary));
      await call({ ...request(isBinary), headers: [['accept-encoding', 'gzip']] });
    }
    expect(dataPlane.releases).toBe(4);
  });
});

describe('packed answers', () => {
  const zeros = { inputs: [input('x', 'UINT8', [4000], binary(4000))], parameters: { binary_data_output: true } };
  const request = (acceptEncoding: string, size = 4000) => {
    const plain = binaryRequest(
      { ...zeros, inputs: [input('x', 'UINT8', [size], binary(size))] },
      new Uint8Array(size).fill(7),
    );
    return { ...plain, headers: [...(plain.headers ?? []), ['accept-encoding', acceptEncoding] as const] };
  };

  test.each([
    ['gzip', gunzipSync, 4000],
    ['deflate', inflateSync, 4000],
    ['gzip', gunzipSync, 400_000],
    ['deflate', inflateSync, 400_000],
  ] as const)('%s, and the header length is that of the JSON before packing', async (coding, unpack, size) => {
    const { call, dataPlane } = echoEdge();
    const reply = await call(request(`${coding};q=0.9, br`, size));
    expect(reply.headers.get('content-encoding')).toBe(coding);
    expect(reply.headers.get('vary')).toBe('accept-encoding');
    const body = unpack(reply.body);
    const jsonBytes = Number(reply.headers.get('inference-header-content-length'));
    expect(JSON.parse(body.subarray(0, jsonBytes).toString()).outputs[0].parameters.binary_data_size).toBe(size);
    expect(body.subarray(jsonBytes).every((byte) => byte === 7)).toBe(true);
    expect(dataPlane.releases).toBe(1);
  });

  test('a small answer, and one nobody wants packed, goes out as it is', async () => {
    const { call } = echoEdge();
    expect((await call(request('gzip', 16))).headers.has('content-encoding')).toBe(false);
    expect((await call(request('gzip;q=0'))).headers.has('content-encoding')).toBe(false);
    expect((await call(request('identity, gzip;q=0.5'))).headers.has('content-encoding')).toBe(false);
  });
});

describe('classification', () => {
  const labels = new Map([['x', ['cat', 'dog']]]);
  const scores = [input('x', 'FP32', [2, 3], { data: [1, 10, 0.0078125, 5, 5, NaN] })].map((each) => ({ ...each }));
  const ask = (classification: number, more: object = {}) =>
    jsonRequest(
      JSON.stringify({ inputs: scores, outputs: [{ name: 'x', parameters: { classification, ...more } }] }).replace(
        'null',
        'NaN',
      ),
    );

  test('names the greatest of every row, with labels where there are some', async () => {
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(viewOf('m', { labels })) });
    const reply = await call(ask(2));
    expect(JSON.parse(reply.text()).outputs).toEqual([
      {
        name: 'x',
        datatype: 'BYTES',
        shape: [2, 2],
        data: ['10.000000:1:dog', '1.000000:0:cat', '5.000000:0:cat', '5.000000:1:dog'],
      },
    ]);
    expect(dataPlane.releases).toBe(1);
  });

  test('asks for no more than there are, without rows where the model has none', async () => {
    const { call } = echoEdge({ catalogue: catalogueOf(viewOf('m', { isBatched: false })) });
    expect(JSON.parse((await call(ask(100))).text()).outputs[0]).toMatchObject({
      shape: [6],
      data: ['10.000000:1', '5.000000:3', '5.000000:4', '1.000000:0', '0.007812:2', 'nan:5'],
    });
  });

  test('integers keep their digits, and binary form is BYTES', async () => {
    const { call } = echoEdge({ catalogue: catalogueOf(viewOf('m', { isBatched: false })) });
    const reply = await call(
      jsonRequest(
        '{"inputs":[{"name":"x","datatype":"UINT64","shape":[2],"data":[1,18446744073709551615]}],' +
          '"outputs":[{"name":"x","parameters":{"classification":1,"binary_data":true}}]}',
      ),
    );
    const jsonBytes = Number(reply.headers.get('inference-header-content-length'));
    expect(Buffer.compare(reply.body.subarray(jsonBytes), encodeBytesElements(['18446744073709551615:1']))).toBe(0);
  });

  test.each(['FP16', 'BF16', 'BOOL', 'BYTES'] as const)('%s is refused before the model runs', async (datatype) => {
    const view = viewOf('m', { outputs: [{ name: 'x', datatype, shape: [-1, 3] }] });
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(view) });
    const reply = await call(ask(1));
    expect(reply.status).toBe(400);
    expect(reply.text()).toContain(`unsupported type '${datatype}'`);
    expect(dataPlane.requests).toEqual([]);
  });

  test('outputs over classificationElementsMax are refused, and the answer released', async () => {
    const { call, dataPlane } = echoEdge({ limits: { classificationElementsMax: 5 } });
    const reply = await call(ask(1));
    expect(reply.status).toBe(413);
    expect(reply.text()).toContain('at most 5');
    expect(dataPlane.releases).toBe(1);
  });
});

describe('failures', () => {
  const request = jsonRequest({ inputs: [] });
  const failing = (error: unknown, retryAfterSeconds = 1) =>
    echoEdge({ dataPlane: { infer: () => Promise.reject(error) }, limits: { retryAfterSeconds } });

  test('an InferenceError keeps its message, status and code', async () => {
    const { call, errors } = failing(new InferenceError('model-full', 'Exceeds maximum queue size'), 3);
    const reply = await call(request);
    expect(reply.status).toBe(503);
    expect(reply.text()).toBe('{"error":"Exceeds maximum queue size"}');
    expect(reply.headers.get('millrace-error-code')).toBe('model-full');
    expect(reply.headers.get('retry-after')).toBe('3');
    expect(errors).toEqual([]);
  });

  test('an error that a repetition does not mend says nothing of one', async () => {
    const reply = await failing(new InferenceError('deadline-exceeded', 'too late')).call(request);
    expect(reply.status).toBe(504);
    expect(reply.headers.has('retry-after')).toBe(false);
  });

  test('a defect is reported inside and hidden outside', async () => {
    const { call, errors } = failing(new TypeError('secret detail'));
    const reply = await call(request);
    expect(reply.status).toBe(500);
    expect(reply.text()).not.toContain('secret');
    expect(reply.text()).not.toContain('at ');
    expect(reply.headers.get('millrace-error-code')).toBe('internal');
    expect(errors).toMatchObject([{ message: 'secret detail' }]);
  });
});
