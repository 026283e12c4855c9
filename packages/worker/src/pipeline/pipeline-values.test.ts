import { runInNewContext } from 'node:vm';
import { type Datatype, datatypes, type TensorSpec } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import type { GivenTensor } from './pipeline-api.ts';
import { pipelineTensorFrom, tensorFromGiven } from './pipeline-values.ts';

const spec = (datatype: Datatype, ...shape: number[]): TensorSpec => ({ name: 'y', datatype, shape });

describe('tensorFromGiven', () => {
  test.each((Object.keys(datatypes) as Datatype[]).filter((name) => name !== 'BYTES'))(
    '%s is the same after a round trip',
    (datatype) => {
      const bytes = new Uint8Array(16).map((_, index) => index);
      const count = 16 / (datatypes[datatype].bytes as number);
      const given = pipelineTensorFrom({ datatype, shape: [count], data: bytes });
      expect(tensorFromGiven('output', 'y', given, spec(datatype, -1))).toEqual({
        name: 'y',
        datatype,
        shape: [count],
        data: bytes,
      });
    },
  );

  test('BYTES are lists of bytes or text', () => {
    const tensor = tensorFromGiven('input', 'x', { data: ['ab', 'c'] });
    expect(tensor).toMatchObject({ datatype: 'BYTES', shape: [2] });
    const { data } = pipelineTensorFrom(tensor);
    expect((data as readonly Uint8Array[]).map((element) => new TextDecoder().decode(element))).toEqual(['ab', 'c']);
  });

  test('an array of another realm has the datatype of its name', () => {
    const data = runInNewContext('new Float32Array([1, 2])') as Float32Array;
    const tensor = tensorFromGiven('output', 'y', { data }, spec('FP32', 2));
    expect(tensor.data).toEqual(new Uint8Array(new Float32Array([1, 2]).buffer));
  });

  test('bytes that are part of a larger buffer are taken without the rest', () => {
    const whole = Buffer.from([1, 2, 3, 4]);
    for (const data of [whole.subarray(1, 3), new Uint8Array(whole).subarray(1, 3)]) {
      expect([...tensorFromGiven('output', 'y', { data }, spec('UINT8', 2)).data]).toEqual([2, 3]);
    }
  });

  test('a declared shape fills in one free size', () => {
    const given = { data: new Float32Array(6) };
    expect(tensorFromGiven('output', 'y', given, spec('FP32', -1, 3)).shape).toEqual([2, 3]);
    expect(tensorFromGiven('output', 'y', { data: new Uint8Array(1) }, spec('BOOL', 1)).datatype).toBe('BOOL');
  });

  test.each<[GivenTensor | undefined, TensorSpec, RegExp]>([
    [undefined, spec('FP32', 1), /output 'y' is missing; give \{ data, shape \}/],
    [{ data: new Float32Array(2) }, spec('FP32', -1, -1), /needs a shape: several sizes are free/],
    [{ data: new Float32Array(2), shape: [3] }, spec('FP32', -1), /has 2 elements, but its shape is \[3\]/],
    [{ data: new Float32Array(2) }, spec('FP64', -1), /is FP32, but FP64 is declared/],
    [{ data: new Float32Array(2), shape: [2] }, spec('FP32', 3), /shape \[2\], but \[3\] is declared/],
    [{ data: 'text' as never }, spec('BYTES', 1), /neither a typed array nor a list of text or bytes/],
    [{ data: new Int32Array(2), datatype: 'FP32' }, spec('FP32', 2), /says FP32, but its data is INT32/],
    [
      { data: new Float32Array(2), shape: [-2, -1] },
      spec('FP32', -1, -1),
      /must be a list of whole numbers, each at least 0/,
    ],
    [
      { data: new Float32Array(2), shape: 2 as never },
      spec('FP32', -1),
      /must be a list of whole numbers, each at least 0/,
    ],
    [
      { data: new Float32Array(0), shape: [2 ** 53, 0] },
      spec('FP32', -1, -1),
      /must be a list of whole numbers, each at least 0/,
    ],
    [{ data: [1] as never }, spec('BYTES', 1), /must be a list of text or bytes/],
  ])('%j for %j is refused with the reason', (given, declared, message) => {
    expect(() => tensorFromGiven('output', 'y', given as GivenTensor, declared)).toThrow(message);
  });
});
