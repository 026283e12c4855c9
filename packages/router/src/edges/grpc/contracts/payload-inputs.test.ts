import { InferenceError, type StreamPayload, takeBytesElements } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { viewOf } from '../../rest/testing/echo-double.ts';
import { jsonPayloadBytesMax } from './json-inputs.ts';
import { typedPayloadFrom } from './payload-inputs.ts';

const ids = viewOf('ids', { inputs: [{ name: 'ids', datatype: 'INT64', shape: [-1, -1] }] });
const rows = viewOf('rows', { inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }] });
const file = viewOf('file', { inputs: [{ name: 'image', datatype: 'BYTES', shape: [1] }], isBatched: false });
const two = viewOf('two', {
  inputs: [
    { name: 'a', datatype: 'FP32', shape: [-1, 2] },
    { name: 'b', datatype: 'BYTES', shape: [-1, 1] },
  ],
});
const stateful = viewOf('stateful', {
  inputs: [
    { name: 'audio', datatype: 'FP32', shape: [-1, 2] },
    { name: 'state', datatype: 'FP32', shape: [-1, 4] },
  ],
  streamStates: [{ input: 'state', output: 'state_out' }],
});

function tensorsOf(payload: StreamPayload) {
  if (payload.kind !== 'tensors') throw new Error(`it is ${payload.kind}`);
  return payload.tensors.map(({ name, datatype, shape, data }) => ({ name, datatype, shape, data: [...data] }));
}
const floats = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer);

test('raw bytes are rows of the one input, as many as there are', () => {
  const given = floats(1, 2, 3, 4);
  for (const type of ['', 'application/octet-stream', 'Application/Octet-Stream; datatype=fp32']) {
    expect(tensorsOf(typedPayloadFrom(type, given, () => rows))).toEqual([
      { name: 'x', datatype: 'FP32', shape: [2, 2], data: [...given] },
    ]);
  }
  expect(tensorsOf(typedPayloadFrom('', floats(1, 2), () => stateful))[0]).toMatchObject({
    name: 'audio',
    shape: [1, 2],
  });
  expect(typedPayloadFrom('', Uint8Array.of(1, 2, 3), () => file)).toEqual({
    kind: 'bytes',
    bytes: Uint8Array.of(1, 2, 3),
  });
});

test('ids of 32 bits are widened for an input of 64, unless the content type says that they are whole', () => {
  const given = new Uint8Array(new Uint32Array([5, 0xffff_ffff]).buffer);
  const wide = [...new Uint8Array(new BigInt64Array([5n, 0xffff_ffffn]).buffer)];
  expect(tensorsOf(typedPayloadFrom('', given, () => ids))).toEqual([
    { name: 'ids', datatype: 'INT64', shape: [1, 2], data: wide },
  ]);
  const whole = typedPayloadFrom('application/octet-stream;datatype=INT64', Uint8Array.from(wide), () => ids);
  expect(tensorsOf(whole)).toEqual([{ name: 'ids', datatype: 'INT64', shape: [1, 2], data: wide }]);
  // Where the message lies in its memory does not matter.
  const shifted = new Uint8Array(9);
  shifted.set(given, 1);
  expect(tensorsOf(typedPayloadFrom('', shifted.subarray(1), () => ids))[0]?.data).toEqual(wide);
});

test('text, images and audio go as they are', () => {
  const text = typedPayloadFrom('text/plain; charset=UTF-8', Buffer.from('héllo'), () => file);
  expect(text).toEqual({ kind: 'text', text: 'héllo' });
  for (const type of ['image/png', 'audio/wav', 'audio/ogg; codecs=opus']) {
    expect(typedPayloadFrom(type, Uint8Array.of(7), () => file)).toEqual({ kind: 'bytes', bytes: Uint8Array.of(7) });
  }
});

test('JSON has inputs by name: values, flat lists, lists as the shape, and base64', () => {
  const json = (value: unknown) =>
    tensorsOf(typedPayloadFrom('application/json', Buffer.from(JSON.stringify(value)), () => two));
  expect(json({ a: [1, 2] })).toEqual([{ name: 'a', datatype: 'FP32', shape: [1, 2], data: [...floats(1, 2)] }]);
  expect(
    json({
      a: [
        [1, 2],
        [3, 4],
      ],
    })[0],
  ).toMatchObject({ shape: [2, 2], data: [...floats(1, 2, 3, 4)] });
  const [a, b] = json({ a: [1, 2, 3, 4], b: ['x', { b64: 'AP8=' }] });
  expect([a?.shape, b?.shape]).toEqual([
    [2, 2],
    [2, 1],
  ]);
  expect(takeBytesElements(Uint8Array.from(b?.data ?? []))?.map((one) => [...one])).toEqual([[120], [0, 255]]);
  expect(json({ b: 'x' })[0]).toMatchObject({ name: 'b', shape: [1, 1] });
});

test.each([
  [
    'application/xml',
    Buffer.from('<a/>'),
    file,
    'unsupported-media',
    /must be application\/json, .* image\/\* or audio\/\*/,
  ],
  ['text/plain; charset=latin1', Buffer.from('a'), file, 'unsupported-media', /send UTF-8/],
  ['text/plain', Uint8Array.of(0xff), file, 'invalid-request', /not UTF-8/],
  ['image/png', Uint8Array.of(1), rows, 'invalid-request', /input x of rows takes FP32; call a pipeline that decodes/],
  [
    'image/png',
    Uint8Array.of(1),
    two,
    'invalid-request',
    /one input, and two has a \(FP32\), b \(BYTES\); send application\/json/,
  ],
  ['', floats(1), rows, 'invalid-request', /shape \[-1,2\], which 4 bytes of FP32 do not fill; send whole rows/],
  ['', Uint8Array.of(1, 2, 3), ids, 'invalid-request', /3 bytes of UINT32 do not fill/],
  ['', floats(1, 2), two, 'invalid-request', /needs a model with one input/],
  ['application/octet-stream; datatype=FP16', floats(1, 2), rows, 'unsupported-media', /takes FP32$/],
  ['application/octet-stream; datatype=INT32', floats(1), ids, 'unsupported-media', /takes INT64 or UINT32$/],
  ['application/json', Buffer.from('{'), two, 'invalid-request', /application\/json and cannot be read/],
  ['application/json', Buffer.from('[1]'), two, 'invalid-request', /no JSON object/],
  ['application/json', Buffer.from('{"volume": 1}'), two, 'invalid-request', /two has no input 'volume'; it has a, b/],
  ['application/json', Buffer.from('{"audoi": 1}'), stateful, 'invalid-request', /did you mean audio\?/],
  ['application/json', Buffer.from('{"state": [0,0,0,0]}'), stateful, 'invalid-request', /no input 'state'/],
  ['application/json', Buffer.from('{"a": [1,2,3]}'), two, 'invalid-request', /3 elements, which do not fit/],
  ['application/json', Buffer.from('{"a": [[1,2],[3]]}'), two, 'invalid-request', /3 elements, which do not fit/],
  ['application/json', Buffer.from('{"a": []}'), two, 'invalid-request', /0 elements, which do not fit/],
  ['application/json', Buffer.from('{"a": ["x", "y"]}'), two, 'invalid-request', /input 'a'/],
  [
    'application/json',
    Buffer.alloc(jsonPayloadBytesMax + 1, 0x20),
    two,
    'request-too-large',
    /131073 bytes, more than the 131072/,
  ],
])('%s %# is refused', (type, bytes, view, code, message) => {
  let error: unknown;
  try {
    typedPayloadFrom(type, bytes, () => view);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(InferenceError);
  expect((error as InferenceError).code).toBe(code);
  expect((error as InferenceError).message).toMatch(message);
});
