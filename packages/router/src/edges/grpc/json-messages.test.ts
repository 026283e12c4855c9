/** Inference in protobuf's JSON: ours against the generated code's. */
import { create, fromBinary, fromJson, type MessageInitShape, toBinary, toJson } from '@bufbuild/protobuf';
import { encodeBytesElements, type Tensor } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { ModelInferRequestSchema, ModelInferResponseSchema } from '../../proto/generated/inference/grpc_service_pb.ts';
import { doAtOnce } from '../slices/slice-queue.ts';
import { grpcDefaults } from './config.ts';
import { decodeRequest } from './decode-request.ts';
import { encodeResponse } from './encode-response.ts';
import { inferResponseCodec, streamRequestCodec } from './infer-codec.ts';
import { InferMessageReader } from './infer-message.ts';
import { JsonRequest } from './json-request.ts';
import { codecOf, jsonAtOnceBytesMax } from './message-codec.ts';

const reader = new InferMessageReader(grpcDefaults);
const anybody = { caller: '', timeoutMs: undefined, deadlineAfter: () => Number.POSITIVE_INFINITY };
type Init = MessageInitShape<typeof ModelInferRequestSchema>;

function jsonOf(init: Init): string {
  return JSON.stringify(toJson(ModelInferRequestSchema, create(ModelInferRequestSchema, init)));
}

/** The tensors as our long reader and as the generated code read them. */
function bothWays(json: string): readonly [ours: readonly Tensor[], generated: readonly Tensor[]] {
  const bytes = Buffer.from(json);
  expect(bytes.length).toBeGreaterThan(jsonAtOnceBytesMax);
  const request = new JsonRequest(bytes, reader);
  expect(request.message).toBeUndefined();
  const ours = decodeRequest(doAtOnce(request.readInSlices()), anybody).request;
  const message = fromJson(ModelInferRequestSchema, JSON.parse(json));
  const generated = decodeRequest(reader.read(toBinary(ModelInferRequestSchema, message)), anybody).request;
  expect({ ...ours, inputs: [] }).toEqual({ ...generated, inputs: [] });
  return [ours.inputs, generated.inputs];
}

const count = 20_000;
const numbers = Array.from({ length: count }, (_, index) => index - 100);
const shape = [BigInt(count)];

describe('a long request', () => {
  test.each([
    ['FP32', { fp32Contents: [...numbers.map((each) => each / 3).slice(2), Number.NaN, Number.POSITIVE_INFINITY] }],
    ['FP64', { fp64Contents: numbers.map((each) => each / 7) }],
    ['INT32', { intContents: numbers }],
    ['INT64', { int64Contents: numbers.map((each) => BigInt(each) * 2n ** 48n) }],
    ['UINT64', { uint64Contents: numbers.map((_, index) => 2n ** 63n + BigInt(index)) }],
    ['BOOL', { boolContents: numbers.map((each) => each % 2 === 0) }],
    ['BYTES', { bytesContents: numbers.map((each) => Buffer.from(`text ${each}`)) }],
  ] as const)('with contents of %s is what the generated code reads', (datatype, contents) => {
    const inputs = [{ name: 'x', datatype, shape, contents: contents as never }];
    const [ours, generated] = bothWays(jsonOf({ modelName: 'm', id: 'a', inputs }));
    expect(ours.map(({ data }) => Buffer.from(data).toString('hex'))).toEqual(
      generated.map(({ data }) => Buffer.from(data).toString('hex')),
    );
  });

  test('with integers as numbers, names in the other case, and white space is, too', () => {
    const json = JSON.stringify(
      {
        model_name: 'm',
        parameters: { a: { string_param: 'b' }, c: { int64_param: 5 } },
        inputs: [
          { name: 'x', datatype: 'INT64', shape: [count], contents: { int64_contents: numbers } },
          { name: 'y', datatype: 'UINT8', shape: ['2'], contents: { uint_contents: [1, 2] } },
        ],
        outputs: [{ name: 'z' }],
      },
      undefined,
      1,
    );
    const [ours, generated] = bothWays(json);
    expect(ours.map(({ name, data }) => [name, [...data]])).toEqual(
      generated.map(({ name, data }) => [name, [...data]]),
    );
  });

  test('with raw contents and long texts is, too', () => {
    const large = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index & 0xff));
    const inputs = [
      { name: 'x', datatype: 'UINT8', shape: [200_000n] },
      { name: 'y', datatype: 'UINT8', shape: [2n] },
    ];
    const [raw] = bothWays(jsonOf({ modelName: 'm', inputs, rawInputContents: [large, Buffer.from([1, 2])] }));
    expect(raw.map(({ data }) => Buffer.compare(data, data.length === 2 ? Buffer.from([1, 2]) : large))).toEqual([
      0, 0,
    ]);
    const texts = [Buffer.from('short'), large, Buffer.from('')];
    const contents = { bytesContents: texts };
    const [bytes] = bothWays(
      jsonOf({ modelName: 'm', inputs: [{ name: 'x', datatype: 'BYTES', shape: [3n], contents }] }),
    );
    expect(Buffer.compare((bytes[0] as Tensor).data, encodeBytesElements(texts))).toBe(0);
  });

  test('is read in slices', () => {
    const inputs = [{ name: 'x', datatype: 'INT32', shape, contents: { intContents: numbers } }];
    const work = new JsonRequest(Buffer.from(jsonOf({ modelName: 'm', inputs })), reader).readInSlices();
    let slices = 1;
    while (work.next().done !== true) slices += 1;
    expect(slices).toBeGreaterThan(count / 2048);
  });

  test.each([
    ['an element of the wrong kind', numbers.map((each) => (each === 5000 ? '"x"' : each)).join()],
    ['an element that is not JSON', numbers.map((each) => (each === 5000 ? 'x' : each)).join()],
  ])('is refused for %s', (_, elements) => {
    const json = `{"modelName":"m","inputs":[{"name":"x","datatype":"INT32","contents":{"intContents":[${elements}]}}]}`;
    expect(() => doAtOnce(new JsonRequest(Buffer.from(json), reader).readInSlices())).toThrow();
  });
});

test('an answer is the JSON that the generated code writes', () => {
  const data = Buffer.from(Array.from({ length: 500_000 }, (_, index) => index & 0xff));
  const answers = [
    { model: 'm', version: '1', id: '', outputs: [] },
    {
      model: 'm "é"',
      version: '',
      id: 'a',
      outputs: [
        { name: 'y', datatype: 'UINT8', shape: [500_000], data },
        { name: 'z', datatype: 'FP32', shape: [], data: new Uint8Array(4) },
        { name: 'none', datatype: 'FP32', shape: [0, 3], data: new Uint8Array(0) },
      ],
    },
  ] as const;
  for (const answer of answers) {
    const json = JSON.parse(Buffer.concat(inferResponseCodec.toJson?.(answer) as Uint8Array[]).toString());
    const message = Buffer.concat(encodeResponse(answer));
    expect(json).toEqual(toJson(ModelInferResponseSchema, fromBinary(ModelInferResponseSchema, message)));
  }
});

/** JSON of this message and white space, of so many bytes. */
const padded = (json: string, bytes: number): Buffer => Buffer.from(json.padEnd(bytes, ' '));

test.each([
  ['a message of a stream', streamRequestCodec(grpcDefaults)],
  ['a message of another call', codecOf(ModelInferRequestSchema)],
])('%s has no more JSON than is read at once', (_, codec) => {
  const json = '{"modelName":"m"}';
  expect(codec.fromJson?.(padded(json, jsonAtOnceBytesMax))).toMatchObject({ modelName: 'm' });
  expect(() => codec.fromJson?.(padded(json, jsonAtOnceBytesMax + 1))).toThrow(
    expect.objectContaining({
      code: 'resource_exhausted',
      message: 'the JSON of the message has 32769 bytes, more than the 32768 allowed; send it as protobuf',
    }) as Error,
  );
});

test('errors about unreadable JSON are short', () => {
  const codec = codecOf(ModelInferResponseSchema);
  const unknown = Buffer.from(JSON.stringify({ ['k'.repeat(10_000)]: 1 }));
  expect(() => codec.fromJson?.(unknown)).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/^.{0,600}$/s) }),
  );
});
