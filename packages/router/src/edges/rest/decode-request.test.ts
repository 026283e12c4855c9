import { gzipSync } from 'node:zlib';
import { encodeBytesElements } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import type { SequenceStep } from '../../data-plane/infer.ts';
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
const longs = typedBytes(new BigInt64Array([2n ** 62n + 1n]));

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
    expect(dataPlane.requests.map(({ target }) => target.id)).toEqual(['r1', '']);
  });

  test('Triton: JSON data nested otherwise than by shape is flattened, before and after its shape', async () => {
    const { call, dataPlane } = echoEdge();
    for (const text of [
      '{"name":"x","datatype":"INT8","shape":[2,2],"data":[[1],[2,3,4]]}',
      '{"data":[1,[2,[3]],4],"name":"x","datatype":"INT8","shape":[2,2]}',
    ]) {
      expect((await call(jsonRequest(`{"inputs":[${text}]}`))).status).toBe(200);
    }
    expect(dataPlane.requests.map(({ inputs }) => [...(inputs[0]?.data ?? [])])).toEqual([
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
  });

  test('binary data reaches the data plane as views of the body', async () => {
    const { call, dataPlane } = echoEdge();
    const request = binaryRequest(
      { inputs: [input('a', 'FP32', [2], binarySize(8)), input('b', 'INT64', [1], binarySize(8))] },
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
            input('a', 'FP32', [2], binarySize(8)),
            input('b', 'INT64', [2], { data: [1, -9] }),
            input('c', 'BYTES', [1], binarySize(6)),
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

  test('parameters, wanted outputs and the version are passed on, except the parameters of the edge', async () => {
    const { call, dataPlane } = echoEdge({ catalogue: catalogueOf(viewOf('a/b')) });
    const request = jsonRequest(
      '{"parameters":{"priority":3,"sequence_id":18446744073709551615,"note":"n","flag":true,"timeout":2500,"binary_data_output":false},' +
        '"outputs":[{"name":"y"},{"name":"x"}],"unknown":{"deep":[1]},' +
        '"inputs":[{"name":"x","datatype":"BOOL","shape":[],"data":[true],"extra":null},{"name":"y","datatype":"UINT8","shape":[0],"data":[]}]}',
    );
    const reply = await call({ ...request, target: '/v2/models/a%2Fb/versions/7/infer/' });
    expect(reply.status).toBe(200);
    expect(dataPlane.requests).toMatchObject([
      {
        target: {
          model: 'a/b',
          version: '7',
          outputs: ['y', 'x'],
          sequence: { id: 2n ** 64n - 1n, isStart: false, isEnd: false },
        },
        origin: { queueTimeoutMs: 2.5, priority: 3 },
        inputs: [{ shape: [] }, { shape: [0] }],
      },
    ]);
    expect(Object.fromEntries(dataPlane.requests[0]?.target.parameters ?? [])).toEqual({ note: 'n', flag: true });
  });

  test.each<[string, SequenceStep | undefined]>([
    ['{"sequence_id":7,"sequence_start":true}', { id: 7n, isStart: true, isEnd: false }],
    ['{"sequence_id":"7","sequence_end":true}', { id: '7', isStart: false, isEnd: true }],
    ['{"sequence_id":9007199254740993}', { id: 9_007_199_254_740_993n, isStart: false, isEnd: false }],
    ['{"sequence_id":0,"sequence_start":true}', undefined],
    ['{"sequence_id":"","sequence_end":true}', undefined],
    ['{"sequence_start":true}', undefined],
  ])('the position in a sequence: %s', async (parameters, sequence) => {
    const { call, dataPlane } = echoEdge();
    const inputs = '[{"name":"x","datatype":"BOOL","shape":[1],"data":[true]}]';
    expect((await call(jsonRequest(`{"parameters":${parameters},"inputs":${inputs}}`))).status).toBe(200);
    expect(dataPlane.requests[0]?.target.sequence).toEqual(sequence);
    expect(dataPlane.requests[0]?.target.parameters.size).toBe(0);
  });

  test('the tighter of header and millrace_timeout_ms is the deadline, and timeout is about the queue', async () => {
    const { call, dataPlane } = echoEdge();
    const request = (parameters: Record<string, unknown>) =>
      jsonRequest({ parameters, inputs: [input('x', 'INT8', [1], { data: [1] })] });
    await call({ ...request({ timeout: 9000 }), headers: [['millrace-timeout-ms', '4']] });
    await call({ ...request({ timeout: 0, millrace_timeout_ms: 30 }), headers: [['millrace-timeout-ms', '40']] });
    await call({ ...request({ millrace_timeout_ms: 50 }), headers: [['millrace-timeout-ms', '40']] });
    await call(request({ millrace_timeout_ms: 60 }));
    await call(request({}));
    expect(dataPlane.requests.map(({ origin }) => [origin.deadlineAt, origin.queueTimeoutMs])).toEqual([
      [4, 9],
      [30, Number.POSITIVE_INFINITY],
      [40, Number.POSITIVE_INFINITY],
      [60, Number.POSITIVE_INFINITY],
      [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    ]);
    expect(dataPlane.requests.every(({ target }) => target.parameters.size === 0)).toBe(true);
  });

  test('content type does not matter', async () => {
    const { call } = echoEdge();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense']) {
      const request = jsonRequest({ inputs: [input('x', 'INT8', [1], { data: [1] })] });
      expect((await call({ ...request, headers: [['content-type', type]] })).status).toBe(200);
    }
  });

  test('bodies are decompressed; the header length is that of the JSON inside', async () => {
    const { call } = echoEdge();
    const plain = binaryRequest({ inputs: [input('x', 'FP32', [2], binarySize(8))] }, floats);
    const headers = [...(plain.headers ?? []), ['content-encoding', 'gzip'] as const];
    const reply = await call({ ...plain, headers, body: gzipSync(plain.body) });
    expect(reply.status).toBe(200);
    expect(JSON.parse(reply.text()).outputs[0].data).toEqual([1.5, -2]);
  });
});
