/** Requests and answers whose JSON is too large for one turn of the event loop. */

import { inject } from '@millrace/http';
import { Cancellation } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { SliceQueue, sliceBytes } from '../slices/slice-queue.ts';
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

const view = (datatype: 'BYTES' | 'FP32' | 'FP64', shape: readonly number[]) =>
  catalogueOf(viewOf('m', { inputs: [{ name: 'x', datatype, shape }], outputs: [{ name: 'x', datatype, shape }] }));
const floats = Array.from({ length: 40_000 }, (_, index) => Math.fround(Math.sin(index)));
const request = (more: object = {}) =>
  jsonRequest({ inputs: [input('x', 'FP32', [1, 40_000], { data: floats })], ...more });

/** A queue that counts its slices. */
function countedSlices(): { readonly slices: SliceQueue; count: number } {
  const counted = {
    count: 0,
    slices: new SliceQueue((run) => {
      counted.count += 1;
      setImmediate(run);
    }),
  };
  return counted;
}

describe('a large request', () => {
  test('is read in slices, whatever the order of its keys, and answered in slices', async () => {
    const data = JSON.stringify(floats);
    const members = ['"name":"x"', '"shape":[1,40000]', '"datatype":"FP32"', `"data":${data}`];
    for (const order of [members, members.toReversed()]) {
      const counted = countedSlices();
      const { call, dataPlane } = echoEdge({ catalogue: view('FP32', [-1, 40_000]), slices: counted.slices });
      const reply = await call(jsonRequest(`{"inputs":[{${order.join()}}]}`));
      expect(reply.status).toBe(200);
      expect(JSON.parse(reply.text()).outputs[0].data.map(Math.fround)).toEqual(floats);
      expect(
        Buffer.compare(dataPlane.requests[0]?.inputs[0]?.data as Uint8Array, typedBytes(Float32Array.from(floats))),
      ).toBe(0);
      expect(counted.count).toBeGreaterThan(data.length / sliceBytes + floats.length / 2048);
    }
  });

  test('of 1,000 rows of 784 floats with all digits of a double is within the limits', async () => {
    const row = `[${Array.from({ length: 784 }, (_, index) => (1 / (index + 3)).toFixed(18)).join()}]`;
    const body = `{"inputs":[{"name":"x","shape":[1000,784],"datatype":"FP32","data":[${Array(1000).fill(row).join()}]}]}`;
    expect(body.length).toBeGreaterThan(15.5 * 1024 * 1024);
    const { call, dataPlane } = echoEdge({ catalogue: view('FP32', [-1, 784]) });
    const wanted = body.replace('"inputs"', '"parameters":{"binary_data_output":true},"inputs"');
    const reply = await call(jsonRequest(wanted));
    expect(reply.status).toBe(200);
    expect(dataPlane.requests[0]?.inputs[0]?.data.byteLength).toBe(784_000 * 4);
  });

  test('has its JSON read in slices in front of binary data too', async () => {
    const x = { name: 'x', datatype: 'FP32', shape: [-1, 40_000] } as const;
    const y = { name: 'y', datatype: 'FP32', shape: [-1, 2] } as const;
    const { call } = echoEdge({ catalogue: catalogueOf(viewOf('m', { inputs: [x, y] })) });
    const tail = typedBytes(Float32Array.of(7, 8));
    const inputs = [input('y', 'FP32', [1, 2], binarySize(8)), input('x', 'FP32', [1, 40_000], { data: floats })];
    const reply = await call(binaryRequest({ inputs, outputs: [{ name: 'y' }] }, tail));
    expect(JSON.parse(reply.text()).outputs[0].data).toEqual([7, 8]);
  });

  test.each([
    ['of an unknown model', { target: '/v2/models/no/infer' }, 404, "unknown model: 'no'"],
    ['of an input that the model does not have', { name: 'z' }, 400, "unexpected inference input 'z' for model 'm'"],
    ['of another datatype', { datatype: 'FP64' }, 400, "data-type is 'FP64', but model 'm' expects 'FP32'"],
    ['of another shape', { shape: [40_000] }, 400, 'Expected [-1,40000], got [40000]'],
    [
      'of more elements than its text can hold',
      { shape: [1_000_000, 40_000] },
      413,
      'more than 4194304 elements as JSON',
    ],
  ] as const)('%s is refused before its data is read', async (_, more, status, message) => {
    const counted = countedSlices();
    const { call, dataPlane } = echoEdge({ catalogue: view('FP32', [-1, 40_000]), slices: counted.slices });
    const { target, ...changed } = { target: '/v2/models/m/infer', ...more };
    const named = Object.entries({ name: 'x', shape: [1, 40_000], datatype: 'FP32', ...changed });
    const members = named.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join();
    // Data that no reader would pass.
    const data = `[${Array(40_000).fill('bad').join()}]`;
    const reply = await call({ ...jsonRequest(`{"inputs":[{${members},"data":${data}}]}`), target });
    expect(reply.status).toBe(status);
    expect(reply.text()).toContain(message);
    expect(dataPlane.refusals).toHaveLength(1);
    // Those of the search for long values; reading the data would take nine more.
    expect(counted.count).toBeLessThanOrEqual(8);
  });

  test('is accepted where another ready version of the model takes it', async () => {
    const other = viewOf('m', { version: '2', inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 40_000] }] });
    const { call } = echoEdge({ catalogue: catalogueOf(viewOf('m'), other) });
    expect((await call(request())).status).toBe(200);
    const asked = await call({ ...request(), target: '/v2/models/m/versions/1/infer' });
    expect(asked.status).toBe(400);
  });

  test('is not read further when its caller has disconnected', async () => {
    const caller = new Cancellation();
    const due: (() => void)[] = [];
    const slices = new SliceQueue((run) => due.push(run));
    const { handler, dataPlane } = echoEdge({ catalogue: view('FP32', [-1, 40_000]), slices });
    const reply = inject(handler, { ...request(), signal: caller });
    while (due.length === 0) await new Promise((resolve) => setImmediate(resolve));
    due.shift()?.();
    caller.cancel('cancelled');
    due.shift()?.();
    expect(slices.size).toBe(0);
    await reply.catch(() => {});
    expect(dataPlane.requests).toEqual([]);
    expect(dataPlane.refusals).toEqual(['cancelled']);
  });

  test.each([
    ['jsonElementsMax', { jsonElementsMax: 39_999 }, 'more than 39999 elements as JSON'],
    ['jsonHeadBytesMax', { jsonHeadBytesMax: 40 }, 'more than 40 bytes beside the data of tensors'],
    ['jsonBytesMax', { jsonBytesMax: 100_000 }, 'more than the 100000 allowed'],
    ['keysMax', { keysMax: 3 }, 'an object has more than 3 keys'],
  ] as const)('over %s is refused by name', async (_, limits, message) => {
    const { call } = echoEdge({ catalogue: view('FP32', [-1, 40_000]), limits });
    const reply = await call(request());
    expect(reply.status).toBe(413);
    expect(reply.text()).toContain(message);
  });

  test('with megabytes of unknown keys is refused at its limit, before they are read', async () => {
    const counted = countedSlices();
    const { call } = echoEdge({ catalogue: view('FP32', [-1, 40_000]), slices: counted.slices });
    const ignored = JSON.stringify(Array(100_000).fill({ a: 1 }));
    const reply = await call(jsonRequest(`{"ignored":${ignored},"inputs":[]}`));
    expect(reply.status).toBe(413);
    expect(reply.text()).toContain('beside the data of tensors');
  });
});

describe('small requests have the same limits', () => {
  test.each([
    ['an id', { id: 'x'.repeat(4097) }, 'the id of the request has more than 4096 bytes'],
    [
      'a name',
      { inputs: [input('x'.repeat(4097), 'FP32', [1], { data: [1] })] },
      'the name of an input has more than 4096',
    ],
    ['an output', { outputs: [{ name: 'x'.repeat(4097) }] }, 'the name of an output has more than 4096 bytes'],
    ['a key', { ['k'.repeat(4097)]: 1 }, 'a key has more than 4096 bytes'],
    [
      'parameters',
      { parameters: Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`p${index}`, 1])) },
      'an object has more than 256 keys',
    ],
  ])('%s', async (_, more, message) => {
    const { call } = echoEdge();
    const reply = await call(jsonRequest({ inputs: [input('x', 'FP32', [1, 2], { data: [1, 2] })], ...more }));
    expect(reply.status).toBe(413);
    expect(reply.text()).toContain(message);
  });
});

describe('an error', () => {
  test.each([
    ['a datatype', { inputs: [input('x', 'y'.repeat(4000), [1], { data: [1] })] }],
    ['a name', { inputs: [input('y'.repeat(4000), 'FP32', [1], {})] }],
    ['a reserved parameter', { inputs: [], parameters: { [`triton_${'y'.repeat(4000)}`]: 1 } }],
    [
      'an output',
      {
        inputs: [input('x', 'FP32', [1], { data: [1] })],
        outputs: [{ name: 'y'.repeat(4000) }, { name: 'y'.repeat(4000) }],
      },
    ],
    ['a deadline', { inputs: [], parameters: { millrace_timeout_ms: 'y'.repeat(50_000) } }],
  ])('quotes only the beginning of what was sent: %s', async (_, json) => {
    const { call } = echoEdge();
    const reply = await call(jsonRequest(json));
    expect(reply.status).toBe(400);
    expect(reply.text()).toContain('yyy');
    expect(reply.body.byteLength).toBeLessThan(600);
  });
});
