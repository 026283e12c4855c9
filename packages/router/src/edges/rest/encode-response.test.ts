import { gunzipSync, inflateSync } from 'node:zlib';
import { encodeBytesElements } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import {
  binaryRequest,
  binarySize,
  catalogueOf,
  echoEdge,
  input,
  jsonRequest,
  typedBytes,
  viewOf,
} from './testing/echo-double.ts';

const floats = typedBytes(new Float32Array([1.5, -2]));

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

  test.each([
    ['BOOL', [true, false], '[true,false]', '0100'],
    ['UINT8', [0, 255], '[0,255]', '00ff'],
    ['INT8', [-128, 127], '[-128,127]', '807f'],
    ['UINT16', [1, 65_535], '[1,65535]', '0100ffff'],
    ['INT16', [-2, 3], '[-2,3]', 'feff0300'],
    ['UINT32', [1, 4_294_967_295], '[1,4294967295]', '01000000ffffffff'],
    ['INT32', [-1, 256], '[-1,256]', 'ffffffff00010000'],
    ['UINT64', [0, 9_007_199_254_740_991], '[0,9007199254740991]', '0000000000000000ffffffffffff1f00'],
    ['INT64', [-1, 1], '[-1,1]', 'ffffffffffffffff0100000000000000'],
    ['FP32', [0.1, -1.5], '[0.1,-1.5]', 'cdcccc3d0000c0bf'],
    ['FP64', [0.1, 1e300], '[0.1,1e+300]', '9a9999999999b93f9c7500883ce4377e'],
    ['BYTES', ['é"', ''], '["é\\"",""]', '03000000c3a92200000000'],
  ])('%s in JSON and in binary, exactly', async (datatype, values, text, hex) => {
    const { call } = echoEdge();
    const inputs = [input('x', datatype, [2], { data: values })];
    expect((await call(jsonRequest({ inputs }))).text()).toContain(`"data":${text}}`);
    const reply = await call(jsonRequest({ inputs, parameters: { binary_data_output: true } }));
    const jsonBytes = Number(reply.headers.get('inference-header-content-length'));
    expect(Buffer.from(reply.body.subarray(jsonBytes)).toString('hex')).toBe(hex);
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

  test('binary_data_output applies only to outputs that are not listed', async () => {
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
    const inputs = [input('x', 'FP16', [1], binarySize(2))];
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
    const refused = await call(binaryRequest({ inputs: [input('x', 'BYTES', [1], binarySize(5))] }, element));
    expect(refused.status).toBe(400);
    expect(refused.text()).toContain('binary_data');
    expect(dataPlane.releases).toBe(1);
    const next = await call(jsonRequest({ inputs: [input('x', 'BYTES', [1], { data: ['é'] })] }));
    expect(JSON.parse(next.text()).outputs[0].data).toEqual(['é']);
  });

  test('a large JSON answer leaves the next one intact', async () => {
    const x = { name: 'x', datatype: 'INT32', shape: [-1] } as const;
    const { call } = echoEdge({ catalogue: catalogueOf(viewOf('m', { inputs: [x] })) });
    const large = Array.from({ length: 300_000 }, (_, index) => index * 7);
    const reply = await call(jsonRequest({ inputs: [input('x', 'INT32', [large.length], { data: large })] }));
    expect(reply.body.byteLength).toBeGreaterThan(1024 * 1024);
    const next = await call(jsonRequest({ inputs: [input('x', 'INT32', [1], { data: [5] })] }));
    expect(JSON.parse(reply.text()).outputs[0].data).toEqual(large);
    expect(JSON.parse(next.text()).outputs[0].data).toEqual([5]);
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

describe('compressed answers', () => {
  const zeros = { inputs: [input('x', 'UINT8', [4000], binarySize(4000))], parameters: { binary_data_output: true } };
  const request = (acceptEncoding: string, size = 4000) => {
    const plain = binaryRequest(
      { ...zeros, inputs: [input('x', 'UINT8', [size], binarySize(size))] },
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

  test('a small answer, and one without an accepted coding, is not compressed', async () => {
    const { call } = echoEdge();
    expect((await call(request('gzip', 16))).headers.has('content-encoding')).toBe(false);
    expect((await call(request('gzip;q=0'))).headers.has('content-encoding')).toBe(false);
    expect((await call(request('identity, gzip;q=0.5'))).headers.has('content-encoding')).toBe(false);
  });
});
