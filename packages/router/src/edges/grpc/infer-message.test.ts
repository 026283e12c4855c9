/** The hand-written reader against the generated one. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { delimitedHead, InferenceError, MalformedMessage, messageFieldsMax } from '@millrace/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type InferParameter as GeneratedParameter,
  InferTensorContentsSchema,
  type ModelInferRequest,
  ModelInferRequestSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import { type InferMessage, InferMessageReader, type InferParameter, joinedContentsBytesMax } from './infer-message.ts';

const roomy = {
  inputsMax: 100,
  outputsMax: 100,
  dimensionsMax: 100,
  parametersMax: 100,
  nameBytesMax: 1000,
  parameterBytesMax: 1000,
};
const reader = new InferMessageReader(roomy);

const text = fc.string({ unit: 'grapheme', maxLength: 90 });
const int64 = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -3n, max: 300n }));
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const parameter = fc.oneof(
  fc.record({ parameterChoice: fc.record({ case: fc.constant('boolParam' as const), value: fc.boolean() }) }),
  fc.record({ parameterChoice: fc.record({ case: fc.constant('int64Param' as const), value: int64 }) }),
  fc.record({ parameterChoice: fc.record({ case: fc.constant('stringParam' as const), value: text }) }),
  fc.record({
    parameterChoice: fc.record({ case: fc.constant('doubleParam' as const), value: fc.double({ noNaN: true }) }),
  }),
  fc.record({ parameterChoice: fc.record({ case: fc.constant('uint64Param' as const), value: uint64 }) }),
  fc.constant({}),
);
const parameters = fc.dictionary(
  text.filter((key) => key !== '__proto__'),
  parameter,
  { maxKeys: 4 },
);
const dimension = fc.bigInt({ min: -(2n ** 53n) + 1n, max: 2n ** 53n - 1n });
const contents = fc.option(fc.record({ fp32Contents: fc.array(fc.float({ noNaN: true }), { maxLength: 4 }) }), {
  nil: undefined,
});
const input = fc.record({
  name: text,
  datatype: text,
  shape: fc.array(dimension, { maxLength: 6 }),
  parameters,
  contents,
});
const request = fc.record({
  modelName: text,
  modelVersion: text,
  id: text,
  parameters,
  inputs: fc.array(input, { maxLength: 4 }),
  outputs: fc.array(fc.record({ name: text, parameters }), { maxLength: 4 }),
  rawInputContents: fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 4 }),
});
type Init = MessageInitShape<typeof ModelInferRequestSchema>;

/** What the reader should give for a generated message. */
function expectedFrom(message: ModelInferRequest): InferMessage {
  return {
    modelName: message.modelName,
    modelVersion: message.modelVersion,
    id: message.id,
    parameters: parametersFrom(message.parameters),
    inputs: message.inputs.map((one) => ({
      name: one.name,
      datatype: one.datatype,
      shape: one.shape.map(Number),
      parameters: parametersFrom(one.parameters),
      contents: one.contents === undefined ? undefined : toBinary(InferTensorContentsSchema, one.contents),
      data: undefined,
    })),
    outputs: message.outputs.map((one) => ({ name: one.name, parameters: parametersFrom(one.parameters) })),
    rawInputContents: message.rawInputContents,
  };
}

function parametersFrom(entries: { [key: string]: GeneratedParameter }): Map<string, InferParameter> {
  return new Map(
    Object.entries(entries).map(([key, { parameterChoice }]) => {
      const value =
        parameterChoice.case === undefined
          ? { kind: 'none' }
          : { kind: parameterChoice.case.replace('Param', ''), value: parameterChoice.value };
      return [key, value as InferParameter];
    }),
  );
}

const plain = (message: InferMessage): unknown => ({
  ...message,
  inputs: message.inputs.map((one) => ({
    ...one,
    contents: one.contents === undefined ? undefined : Uint8Array.from(one.contents),
  })),
  rawInputContents: message.rawInputContents.map((one) => Uint8Array.from(one)),
});

test('reads every message as the generated code does', () => {
  fc.assert(
    fc.property(request, (init) => {
      const message = create(ModelInferRequestSchema, init as Init);
      expect(plain(reader.read(toBinary(ModelInferRequestSchema, message)))).toEqual(plain(expectedFrom(message)));
    }),
    { seed: 3, numRuns: 500 },
  );
});

test('of a message that is sent twice in a row, scalars are the last and lists are joined', () => {
  const first = create(ModelInferRequestSchema, {
    modelName: 'a',
    inputs: [{ name: 'x' }],
    rawInputContents: [Uint8Array.of(1)],
  });
  const second = create(ModelInferRequestSchema, {
    modelName: 'b',
    inputs: [{ name: 'y' }],
    rawInputContents: [Uint8Array.of(2)],
  });
  const joined = Buffer.concat([first, second].map((one) => toBinary(ModelInferRequestSchema, one)));
  const message = reader.read(joined);
  expect(message.modelName).toBe('b');
  expect(message.inputs.map(({ name }) => name)).toEqual(['x', 'y']);
  expect(message.rawInputContents.map((one) => [...one])).toEqual([[1], [2]]);
});

test('a shape is read packed and unpacked, negative and large dimensions too', () => {
  // inputs (5) with shape (3): 2 unpacked, then packed -1 and 2^40.
  const packed = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20];
  const shape = [0x18, 2, 0x1a, packed.length, ...packed];
  expect(reader.read(Uint8Array.from([0x2a, shape.length, ...shape])).inputs[0]?.shape).toEqual([2, -1, 2 ** 40]);
});

test('unknown fields of every wire type are skipped', () => {
  const unknown = [0x78, 5, 0x7a, 2, 1, 2, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7d, 1, 2, 3, 4];
  const message = reader.read(Uint8Array.from([...unknown, 0x0a, 1, 0x6d]));
  expect(message.modelName).toBe('m');
});

test('raw tensors are views of the message, and stay unchanged', () => {
  const init = { rawInputContents: [Uint8Array.of(1, 2, 3)] };
  const bytes = toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, init));
  const [raw] = reader.read(bytes).rawInputContents;
  expect(raw?.buffer).toBe(bytes.buffer);
  reader.read(
    toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, { rawInputContents: [new Uint8Array(9)] })),
  );
  expect([...(raw ?? [])]).toEqual([1, 2, 3]);
});

describe('limits', () => {
  const tight = new InferMessageReader({ ...roomy, inputsMax: 2, outputsMax: 2, dimensionsMax: 2, parametersMax: 2 });
  const three = [{}, {}, {}];
  const parametersOf = (count: number) => Object.fromEntries(three.slice(0, count).map((one, at) => [`p${at}`, one]));
  const of = (count: number): [string, Init][] => [
    ['inputs', { inputs: three.slice(0, count) }],
    ['outputs', { outputs: three.slice(0, count) }],
    ['raw_input_contents', { rawInputContents: three.slice(0, count).map(() => new Uint8Array()) }],
    ['dimensions', { inputs: [{ shape: [1n, 2n, 3n].slice(0, count) }] }],
    ['parameters', { parameters: parametersOf(count) }],
    ['parameters', { inputs: [{ parameters: parametersOf(count) }] }],
    ['parameters', { outputs: [{ parameters: parametersOf(count) }] }],
  ];
  const encode = (init: Init) => toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, init));

  test.each(of(3))('more %s than the limit are refused', (what, init) => {
    expect(() => tight.read(encode(init))).toThrow(InferenceError);
    expect(() => tight.read(encode(init))).toThrow(`the request has more than 2 ${what}`);
  });

  test.each(of(2))('as many %s as the limit pass', (_, init) => {
    expect(() => tight.read(encode(init))).not.toThrow();
  });
});

test('any bytes are read or refused with a reason', () => {
  const valid = toBinary(
    ModelInferRequestSchema,
    create(ModelInferRequestSchema, {
      modelName: 'model',
      parameters: { p: { parameterChoice: { case: 'doubleParam', value: 1 } } },
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1n, 300n], contents: { fp32Contents: [1, 2] } }],
      rawInputContents: [new Uint8Array(20)],
    }),
  );
  const mutation = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 5 });
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    mutation.map((changes) => {
      const copy = Uint8Array.from(valid);
      for (const [at, byte] of changes) copy[at] = byte;
      return copy;
    }),
    fc.nat(valid.length).map((end) => valid.subarray(0, end)),
  );
  fc.assert(
    fc.property(bytes, (body) => {
      try {
        reader.read(body);
      } catch (error) {
        expect(error).toBeInstanceOf(InferenceError);
      }
    }),
    { seed: 4, numRuns: process.env.TEST_LONG === '1' ? 5000 : 1000 },
  );
});

test.each([
  ['text that is not UTF-8', [0x0a, 1, 0xff]],
  ['a length beyond the end', [0x0a, 5, 0x61]],
  ['a group', [0x0b]],
  ['the field number 0', [0x02, 0]],
  ['an unterminated number', [0x78, 0x80]],
  ['a packed shape that ends within a number', [0x2a, 3, 0x1a, 1, 0x80]],
])('%s is malformed', (_, bytes) => {
  expect(() => reader.read(Uint8Array.from(bytes))).toThrow(MalformedMessage);
});

test('a message is not kept after it was read, also when it was refused', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const used = new InferMessageReader(roomy);
  const readLarge = (end: readonly number[]): WeakRef<Uint8Array> => {
    const bytes = Uint8Array.from([0x0a, 1, 0x61, ...end]);
    try {
      used.read(bytes);
    } catch (error) {
      expect(error).toBeInstanceOf(MalformedMessage);
    }
    return new WeakRef(bytes);
  };
  const references = [readLarge([]), readLarge([0x0b])];
  // A reference is held by its WeakRef until the end of the task.
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  expect(references.map((reference) => reference.deref())).toEqual([undefined, undefined]);
});

describe('texts', () => {
  const read = (init: Init) => reader.read(toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, init)));

  test.each([
    ['the name of the model', { modelName: 'x'.repeat(1001) }],
    ['the id', { id: 'x'.repeat(1001) }],
    ['the name of an input', { inputs: [{ name: 'x'.repeat(1001) }] }],
    [
      'the text of a parameter',
      { parameters: { a: { parameterChoice: { case: 'stringParam', value: 'x'.repeat(1001) } } } },
    ],
  ] as const)('%s over its limit is refused by size', (_, init) => {
    expect(() => read(init as Init)).toThrow(
      expect.objectContaining({
        code: 'request-too-large',
        message: 'a name, an id or a parameter of the request has 1001 bytes, more than the 1000 allowed; shorten it',
      }) as Error,
    );
  });

  test('at their limits they are read', () => {
    expect(read({ modelName: 'x'.repeat(1000) }).modelName).toHaveLength(1000);
  });
});

test('a message of more than messageFieldsMax fields is refused, known ones and others alike', () => {
  const unknown = Buffer.alloc(9 * (messageFieldsMax + 1), Buffer.from([(15 << 3) | 1, 0, 0, 0, 0, 0, 0, 0, 0]));
  expect(() => reader.read(unknown.subarray(9))).not.toThrow();
  expect(() => reader.read(unknown)).toThrow(/too many fields/);
  const names = Buffer.alloc(2 * (messageFieldsMax + 1), Buffer.from([(1 << 3) | 2, 0]));
  expect(() => reader.read(names)).toThrow(/too many fields/);
});

test('contents that come in several parts are joined up to joinedContentsBytesMax', () => {
  const part = (bytes: number): Buffer => {
    const contents = Buffer.concat([delimitedBy(7, Buffer.alloc(bytes))]);
    return delimitedBy(5, Buffer.concat([delimitedBy(5, contents), delimitedBy(5, contents)]));
  };
  expect(reader.read(part(100)).inputs[0]?.contents).toHaveLength(2 * (100 + 2));
  expect(() => reader.read(part(joinedContentsBytesMax / 2))).toThrow(/send them as one/);
});

function delimitedBy(field: number, payload: Uint8Array): Buffer {
  return Buffer.concat([delimitedHead(field, payload.length), payload]);
}
