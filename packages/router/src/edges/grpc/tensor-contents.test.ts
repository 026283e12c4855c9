import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { type Datatype, encodeBytesElements, InferenceError } from '@millrace/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { InferTensorContentsSchema } from '../../proto/generated/inference/grpc_service_pb.ts';
import { doAtOnce } from '../slices/slice-queue.ts';
import { tensorDataFrom } from './tensor-contents.ts';

type Init = MessageInitShape<typeof InferTensorContentsSchema>;

const encode = (init: Init): Uint8Array => toBinary(InferTensorContentsSchema, create(InferTensorContentsSchema, init));
const dataOf = (bytes: Uint8Array, datatype: Datatype): Uint8Array =>
  doAtOnce(tensorDataFrom(bytes, { input: 'x', model: 'm', datatype }));
const bytesOf = (view: ArrayBufferView): Buffer => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

const integers = (min: number, max: number) => fc.array(fc.integer({ min, max }));
const bigints = (min: bigint, max: bigint) => fc.array(fc.bigInt({ min, max }));

interface Case<T> {
  readonly datatype: Datatype;
  readonly values: fc.Arbitrary<T>;
  readonly init: (values: T) => Init;
  readonly bytes: (values: T) => Uint8Array;
}
const caseOf = <T>(one: Case<T>): Case<unknown> => one as Case<unknown>;

const cases = [
  caseOf({
    datatype: 'BOOL',
    values: fc.array(fc.boolean()),
    init: (values) => ({ boolContents: values }),
    bytes: (values) => Uint8Array.from(values, Number),
  }),
  caseOf({
    datatype: 'INT8',
    values: integers(-128, 127),
    init: (values) => ({ intContents: values }),
    bytes: (values) => bytesOf(Int8Array.from(values)),
  }),
  caseOf({
    datatype: 'INT16',
    values: integers(-32_768, 32_767),
    init: (values) => ({ intContents: values }),
    bytes: (values) => bytesOf(Int16Array.from(values)),
  }),
  caseOf({
    datatype: 'INT32',
    values: integers(-(2 ** 31), 2 ** 31 - 1),
    init: (values) => ({ intContents: values }),
    bytes: (values) => bytesOf(Int32Array.from(values)),
  }),
  caseOf({
    datatype: 'INT64',
    values: bigints(-(2n ** 63n), 2n ** 63n - 1n),
    init: (values) => ({ int64Contents: values }),
    bytes: (values) => bytesOf(BigInt64Array.from(values)),
  }),
  caseOf({
    datatype: 'UINT8',
    values: integers(0, 255),
    init: (values) => ({ uintContents: values }),
    bytes: (values) => bytesOf(Uint8Array.from(values)),
  }),
  caseOf({
    datatype: 'UINT16',
    values: integers(0, 65_535),
    init: (values) => ({ uintContents: values }),
    bytes: (values) => bytesOf(Uint16Array.from(values)),
  }),
  caseOf({
    datatype: 'UINT32',
    values: integers(0, 2 ** 32 - 1),
    init: (values) => ({ uintContents: values }),
    bytes: (values) => bytesOf(Uint32Array.from(values)),
  }),
  caseOf({
    datatype: 'UINT64',
    values: bigints(0n, 2n ** 64n - 1n),
    init: (values) => ({ uint64Contents: values }),
    bytes: (values) => bytesOf(BigUint64Array.from(values)),
  }),
  caseOf({
    datatype: 'FP32',
    values: fc.array(fc.float()),
    init: (values) => ({ fp32Contents: values }),
    bytes: (values) => bytesOf(Float32Array.from(values)),
  }),
  caseOf({
    datatype: 'FP64',
    values: fc.array(fc.double()),
    init: (values) => ({ fp64Contents: values }),
    bytes: (values) => bytesOf(Float64Array.from(values)),
  }),
  caseOf({
    datatype: 'BYTES',
    values: fc.array(fc.uint8Array({ maxLength: 300 })),
    init: (values) => ({ bytesContents: values }),
    bytes: (values) => encodeBytesElements(values),
  }),
];

test.each(cases)('$datatype contents become the bytes of the tensor', ({ datatype, values, init, bytes }) => {
  fc.assert(
    fc.property(values, (sent) => {
      expect(Buffer.from(dataOf(encode(init(sent)), datatype)).equals(bytes(sent))).toBe(true);
    }),
    { seed: 6, numRuns: 100 },
  );
});

test('floats in one packed field are handed on without a copy', () => {
  const contents = encode({ fp32Contents: [1, 2, 3] });
  expect(dataOf(contents, 'FP32').buffer).toBe(contents.buffer);
});

test('elements that were sent unpacked, or packed in several fields, count alike', () => {
  const ints = Uint8Array.from([0x10, 7, 0x12, 2, 1, 2, 0x10, 3]);
  expect([...new Int32Array(Uint8Array.from(dataOf(ints, 'INT32')).buffer)]).toEqual([7, 1, 2, 3]);
  const floats = Buffer.concat([
    Uint8Array.of(0x35),
    bytesOf(Float32Array.of(1)),
    Uint8Array.of(0x32, 4),
    bytesOf(Float32Array.of(2)),
  ]);
  expect([...new Float32Array(Uint8Array.from(dataOf(floats, 'FP32')).buffer)]).toEqual([1, 2]);
});

test.each<[Datatype, Init, string]>([
  ['FP32', { boolContents: [true] }, "of type 'BOOL', expected datatype 'FP32'"],
  ['BOOL', { intContents: [1] }, "of type 'INT32', expected datatype 'BOOL'"],
  ['UINT8', { intContents: [1] }, "of type 'INT32', expected datatype 'UINT8'"],
  ['INT8', { uintContents: [1] }, "of type 'UINT32', expected datatype 'INT8'"],
  ['FP16', { fp32Contents: [1] }, "of type 'FP32', expected datatype 'FP16'"],
  ['BYTES', { fp64Contents: [1] }, "of type 'FP64', expected datatype 'BYTES'"],
  ['INT64', { intContents: [1] }, "of type 'INT32', expected datatype 'INT64'"],
])('contents of another datatype than %s are refused', (datatype, init, message) => {
  expect(() => dataOf(encode(init), datatype)).toThrow(
    `unexpected explicit tensor data for input tensor 'x' for model 'm' ${message}`,
  );
});

test('contents in two fields are refused', () => {
  const init = { intContents: [1], fp32Contents: [1] };
  expect(() => dataOf(encode(init), 'INT32')).toThrow('binary data was already supplied');
});

test.each<[Datatype, Init, string]>([
  ['INT8', { intContents: [1, 128] }, "element 1 of input 'x' is 128, which INT8 cannot hold"],
  ['INT16', { intContents: [-32_769] }, 'which INT16 cannot hold'],
  ['UINT8', { uintContents: [256] }, 'which UINT8 cannot hold'],
  ['UINT16', { uintContents: [65_536] }, 'which UINT16 cannot hold'],
])('a value out of the range of %s is refused, not cut', (datatype, init, message) => {
  expect(() => dataOf(encode(init), datatype)).toThrow(message);
});

test('empty contents have no bytes', () => {
  expect(dataOf(new Uint8Array(0), 'FP32')).toHaveLength(0);
  expect(dataOf(Uint8Array.of(0x32, 0), 'INT32')).toHaveLength(0);
});

test('any contents are read or refused with the name of the input', () => {
  const datatypes: Datatype[] = ['BOOL', 'INT16', 'UINT64', 'FP32', 'FP64', 'BYTES'];
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(...datatypes), (bytes, datatype) => {
      try {
        dataOf(bytes, datatype);
      } catch (error) {
        expect(error).toBeInstanceOf(InferenceError);
      }
    }),
    { seed: 7, numRuns: 3000 },
  );
});

test.each([
  ['packed', 'INT32', { intContents: Array.from({ length: 100_000 }, (_, index) => index) }],
  ['text', 'BYTES', { bytesContents: Array.from({ length: 100_000 }, () => new Uint8Array(3)) }],
] as const)('%s contents of many elements are read in slices', (_, datatype, init) => {
  const work = tensorDataFrom(encode(init as unknown as Init), { input: 'x', model: 'm', datatype });
  let slices = 1;
  while (work.next().done !== true) slices += 1;
  expect(slices).toBeGreaterThan(100_000 / (16 * 1024));
});
