/** Tensors go in and come out as they are: every datatype, every kind of shape. */
import type { Datatype } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import type { FaceTools } from './contract.ts';
import { passedModelOf } from './served-models.ts';
import { exactTensor, type TensorValue } from './tensors.ts';

const floatValues = [0, -0, 1, -2.5, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

/** The edges of every range, among them what a double cannot hold. */
const valuesByDatatype: Readonly<Record<Datatype, readonly TensorValue[]>> = {
  BOOL: [true, false, true],
  UINT8: [0, 1, 2 ** 8 - 1],
  UINT16: [0, 1, 2 ** 16 - 1],
  UINT32: [0, 1, 2 ** 32 - 1],
  UINT64: [0n, 2n ** 53n + 1n, 2n ** 64n - 1n],
  INT8: [-(2 ** 7), 0, 2 ** 7 - 1],
  INT16: [-(2 ** 15), 0, 2 ** 15 - 1],
  INT32: [-(2 ** 31), 0, 2 ** 31 - 1],
  INT64: [-(2n ** 63n), -(2n ** 53n) - 1n, 2n ** 63n - 1n],
  FP16: [...floatValues, 65_504, 2 ** -24],
  BF16: [...floatValues, 2 ** 127, 2 ** -133],
  FP32: [...floatValues, Math.fround(0.1), 2 ** -149, Math.fround(3.4028234663852886e38)],
  FP64: [...floatValues, 0.1, Number.MIN_VALUE, Number.MAX_VALUE],
  BYTES: ['', 'grüße 🦫', '"quoted"\\\n', '', 'last'],
};

export function testAnswers({ infer, testWith }: FaceTools): void {
  const row = (name: string, ...values: readonly number[]) => exactTensor(name, 'FP32', [values.length / 2, 2], values);

  describe('answers', () => {
    for (const [datatype, values] of Object.entries(valuesByDatatype) as [Datatype, readonly TensorValue[]][]) {
      const ability = datatype === 'FP16' || datatype === 'BF16' ? '16-bit floats' : undefined;
      testWith(ability, `${datatype} comes back bit for bit`, async () => {
        const inputs = [exactTensor('given', datatype, [values.length], values)];
        expect(await infer({ model: passedModelOf(datatype), inputs })).toEqual({
          model: passedModelOf(datatype),
          version: '1',
          id: '',
          outputs: [exactTensor('passed', datatype, [values.length], values)],
        });
      });
    }

    testWith('bytes that are not text', 'BYTES may be any bytes', async () => {
      // By a pipeline: ONNX Runtime takes texts only.
      const bytes = Uint8Array.of(0xff, 0, 0xfe, 0xc3);
      const inputs = [exactTensor('say', 'BYTES', [1], [Buffer.concat([Buffer.from('pass '), bytes])])];
      expect(await infer({ model: 'held', inputs })).toMatchObject({
        outputs: [exactTensor('said', 'BYTES', [1], [bytes])],
      });
    });

    test('a scalar has no dimensions', async () => {
      expect(await infer({ model: 'single_value', inputs: [exactTensor('x', 'FP32', [], [1.5])] })).toMatchObject({
        outputs: [exactTensor('y', 'FP32', [], [3])],
      });
    });

    test.each([[[0, 3]], [[2, 0]]])('a tensor of shape %j has no elements', async (shape) => {
      expect(await infer({ model: 'free_sizes', inputs: [exactTensor('x', 'FP32', shape, [])] })).toMatchObject({
        outputs: [exactTensor('y', 'FP32', shape, [])],
      });
    });

    test('several inputs give several outputs, in the order of the model', async () => {
      const inputs = [row('right', 3, 4), row('left', 5, 6)];
      expect(await infer({ model: 'arithmetic', inputs })).toMatchObject({
        outputs: [row('sum', 8, 10), row('product', 15, 24)],
      });
    });

    test('only the outputs that are asked for come, in the order asked', async () => {
      const inputs = [row('left', 5, 6), row('right', 3, 4)];
      const ask = async (...names: readonly string[]) =>
        infer({ model: 'arithmetic', inputs, outputs: names.map((name) => ({ name })) });
      expect(await ask('product', 'sum')).toHaveProperty('outputs', [row('product', 15, 24), row('sum', 8, 10)]);
      expect(await ask('product')).toHaveProperty('outputs', [row('product', 15, 24)]);
    });

    test('rows of one request stay in their order', async () => {
      const inputs = [row('left', 1, 2, 3, 4, 5, 6), row('right', 10, 20, 30, 40, 50, 60)];
      expect(await infer({ model: 'arithmetic', inputs, outputs: [{ name: 'sum' }] })).toMatchObject({
        outputs: [row('sum', 11, 22, 33, 44, 55, 66)],
      });
    });

    test('more rows than a batch holds are answered as one tensor', async () => {
      const numbers = Array.from({ length: 1000 }, (_, index) => index + 1);
      const inputs = [exactTensor('input', 'FP32', [numbers.length, 1], numbers)];
      expect(await infer({ model: 'any_rows', inputs })).toMatchObject({
        outputs: [
          exactTensor(
            'output',
            'FP32',
            [numbers.length, 1],
            numbers.map((number) => -number),
          ),
        ],
      });
    });

    testWith('classification', 'an output may be asked for as its greatest classes', async () => {
      const inputs = [row('left', 1, 5), row('right', 2, 2)];
      const outputs = [{ name: 'sum', classes: 1 }, { name: 'product' }];
      expect(await infer({ model: 'arithmetic', inputs, outputs })).toMatchObject({
        outputs: [exactTensor('sum', 'BYTES', [1, 1], ['7.000000:1']), row('product', 2, 10)],
      });
    });
  });
}
