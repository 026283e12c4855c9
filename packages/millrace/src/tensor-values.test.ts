import { type Datatype, encodeBytesElements } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { type HalfFloats, type InputValue, outputValueFrom, type TypedArray, tensorFrom } from './tensor-values.ts';

const pairs: readonly (readonly [Datatype, InputValue['data'], TypedArray])[] = [
  ['BOOL', [true, false, 1, 0], Uint8Array.of(1, 0, 1, 0)],
  ['UINT8', [0, 255], Uint8Array.of(0, 255)],
  ['UINT16', [0, 65_535], Uint16Array.of(0, 65_535)],
  ['UINT32', [0, 4_294_967_295], Uint32Array.of(0, 4_294_967_295)],
  ['UINT64', [0, 18_446_744_073_709_551_615n], BigUint64Array.of(0n, 18_446_744_073_709_551_615n)],
  ['INT8', [-128, 127], Int8Array.of(-128, 127)],
  ['INT16', [-32_768, 32_767], Int16Array.of(-32_768, 32_767)],
  ['INT32', [-2_147_483_648, 2_147_483_647], Int32Array.of(-2_147_483_648, 2_147_483_647)],
  ['INT64', [-9_223_372_036_854_775_808n, 7], BigInt64Array.of(-9_223_372_036_854_775_808n, 7n)],
  ['FP32', [0.1, Number.NaN], Float32Array.of(0.1, Number.NaN)],
  ['FP64', [0.1, Number.POSITIVE_INFINITY], Float64Array.of(0.1, Number.POSITIVE_INFINITY)],
];

test.each(pairs)(
  '%s comes from a list, from its typed array and from bytes alike, and goes back',
  (datatype, list, typed) => {
    const shape = [typed.length];
    const bytes = new Uint8Array(typed.buffer);
    for (const data of [list, typed, bytes]) {
      const tensor = tensorFrom('x', { shape, data }, datatype);
      expect(tensor).toEqual({ name: 'x', datatype, shape, data: bytes });
    }
    const output = outputValueFrom({ name: 'x', datatype, shape, data: bytes });
    expect(output).toEqual({ datatype, shape, data: typed });
    expect(output.data).not.toBe(typed);
  },
);

const halves: readonly (readonly [Datatype, readonly number[], Uint16Array])[] = [
  ['FP16', [1.5, -2, 65_504, 2 ** -24], Uint16Array.of(0x3e00, 0xc000, 0x7bff, 1)],
  ['BF16', [1.5, -2, Number.POSITIVE_INFINITY, 0], Uint16Array.of(0x3fc0, 0xc000, 0x7f80, 0)],
];

test.each(halves)('%s comes from numbers, from its bits and from bytes alike, and goes back as numbers', (...half) => {
  const [datatype, numbers, bits] = half;
  const shape = [numbers.length];
  const bytes = new Uint8Array(bits.buffer);
  for (const data of [numbers, Float32Array.from(numbers), Float64Array.from(numbers), bits, bytes]) {
    expect(tensorFrom('x', { shape, data }, datatype)).toEqual({ name: 'x', datatype, shape, data: bytes });
  }
  const output = outputValueFrom({ name: 'x', datatype, shape, data: bytes });
  expect(output).toEqual({ datatype, shape, data: Float32Array.from(numbers) });
});

test('FP16 rounds to nearest, comes from a Float16Array, and lies at any address', () => {
  const of = (data: InputValue['data']) => tensorFrom('x', { shape: [1], data }, 'FP16').data;
  expect(of(Float32Array.of(1 / 3))).toEqual(Uint8Array.of(0x55, 0x35));
  // Stands in for the real one, which not every supported version of Node has.
  const array = Object.defineProperty(Uint16Array.of(0x3e00), Symbol.toStringTag, { value: 'Float16Array' });
  expect(of(array as unknown as HalfFloats)).toEqual(Uint8Array.of(0, 0x3e));
  const data = Uint8Array.of(9, 0, 0x3e).subarray(1);
  expect(outputValueFrom({ name: 'x', datatype: 'FP16', shape: [1], data }).data).toEqual(Float32Array.of(1.5));
});

test('BYTES that are not text are refused by the name of the tensor', () => {
  const data = encodeBytesElements(['a', Uint8Array.of(0xff)]);
  expect(() => outputValueFrom({ name: 't', datatype: 'BYTES', shape: [2], data })).toThrow(
    "element 1 of output 't' is not valid UTF-8",
  );
  expect(() => tensorFrom('t', { shape: [2], data: ['a', '\ud800'] }, 'BYTES')).toThrow("element 1 of input 't'");
});

test('a byte order mark stays in a text', () => {
  const { data } = tensorFrom('t', { shape: [1], data: ['\ufeffa'] }, 'BYTES');
  expect(outputValueFrom({ name: 't', datatype: 'BYTES', shape: [1], data }).data).toEqual(['\ufeffa']);
});

test('BYTES come from text, from bytes, and encoded, and go back as text', () => {
  const data = encodeBytesElements(['grüße', '', 'x']);
  expect(tensorFrom('t', { shape: [3], data: ['grüße', new Uint8Array(), 'x'] }, 'BYTES').data).toEqual(data);
  expect(tensorFrom('t', { shape: [3], data }, 'BYTES').data).toEqual(data);
  expect(outputValueFrom({ name: 't', datatype: 'BYTES', shape: [3], data }).data).toEqual(['grüße', '', 'x']);
});

test('a typed array is used without a copy, also a view of part of a buffer', () => {
  const whole = Float32Array.of(1, 2, 3, 4);
  const { data } = tensorFrom('x', { shape: [2], data: whole.subarray(1, 3) }, 'FP32');
  expect(data.buffer).toBe(whole.buffer);
  expect([data.byteOffset, data.byteLength]).toEqual([4, 8]);
});

test('an output is a copy, also of memory that a Buffer views', () => {
  const data = Buffer.from([1, 2, 3]);
  const output = outputValueFrom({ name: 'x', datatype: 'UINT8', shape: [3], data });
  data.fill(9);
  expect(output.data).toEqual(Uint8Array.of(1, 2, 3));
});

const wrongElements: readonly (readonly [Datatype, InputValue['data'], string])[] = [
  ['BOOL', [true, 2], "element 1 of input 'x' is 2, which is not a value of BOOL"],
  ['BOOL', ['true'], "element 0 of input 'x' is true"],
  ['UINT8', [256], 'is 256, which is not a value of UINT8'],
  ['UINT8', [-1], 'is -1, which'],
  ['INT8', [1.5], 'is 1.5, which'],
  ['INT32', [Number.NaN], 'is NaN, which'],
  ['INT32', [5n], 'is 5, which'],
  ['INT64', [2 ** 53], 'is 9007199254740992, which'],
  ['INT64', [9_223_372_036_854_775_808n], 'is 9223372036854775808, which'],
  ['UINT64', [-1n], 'is -1, which'],
  ['INT64', [true], 'is true, which'],
  ['FP32', ['1'], 'is 1, which is not a value of FP32'],
  ['FP32', [true], 'is true, which'],
  ['BYTES', ['a', 1], "element 1 of input 'x' is 1, which is not a value of BYTES"],
];

test.each(wrongElements)('%s refuses %o', (datatype, data, message) => {
  const from = () => tensorFrom('x', { shape: [1], data }, datatype);
  expect(from).toThrow(expect.objectContaining({ code: 'invalid-request' }));
  expect(from).toThrow(message);
});

test('a typed array of another kind is refused instead of being read as something else', () => {
  const from = (data: TypedArray, datatype: Datatype) => () => tensorFrom('x', { shape: [1], data }, datatype);
  expect(from(Int32Array.of(1), 'FP32')).toThrow(
    "input 'x' is a Int32Array; FP32 takes a Float32Array, or its bytes in a Uint8Array, or a list",
  );
  expect(from(Float64Array.of(1), 'INT64')).toThrow('INT64 takes a BigInt64Array');
  expect(from(Int8Array.of(1), 'BOOL')).toThrow("input 'x' is a Int8Array; BOOL takes a Uint8Array, or a list");
});

test('a value without a shape or without data is refused by the name of the input', () => {
  const from = (value: unknown) => () => tensorFrom('x', value as InputValue, 'FP32');
  expect(from({ data: [1] })).toThrow("input 'x' needs a shape");
  expect(from({ shape: [1] })).toThrow("input 'x' needs data");
  expect(from({ shape: [1], data: 5 })).toThrow("input 'x' needs data");
});
