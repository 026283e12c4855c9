/** What cannot be answered is refused by a code of the catalogue, the same for every caller. */
import { describe, expect, test } from 'vitest';
import type { FaceTools } from './contract.ts';
import { said, saying } from './scripted-model.ts';
import { bodyBytesMax } from './server-harness.ts';
import { exactTensor } from './tensors.ts';

export function testRefusals(tools: FaceTools): void {
  const { infer, script, testWith } = tools;
  const left = exactTensor('left', 'FP32', [1, 2], [3, 5]);
  const right = exactTensor('right', 'FP32', [1, 2], [4, 6]);
  const refusal = (code: string, text: string) => ({ code, message: expect.stringContaining(text) });

  describe('refusals', () => {
    test.each([
      ['an unknown model', { model: 'nobody' }, 'unknown-model', 'nobody'],
      ['an unknown version', { model: 'calculator', version: '9' }, 'unknown-model', 'calculator'],
      ['an unknown label', { model: 'calculator@nothing' }, 'unknown-model', 'nothing'],
      ['a model that failed to load', { model: 'broken' }, 'model-not-ready', 'broken'],
    ])('%s', async (_, named, code, text) => {
      expect(await infer({ ...named, inputs: [left, right] })).toEqual(refusal(code, text));
    });

    test.each([
      ['an input that the model does not have', [left, { ...right, name: 'middle' }], 'middle'],
      ['an input that is missing', [left], 'right'],
      ['another datatype than the model takes', [left, exactTensor('right', 'INT32', [1, 2], [4, 6])], 'INT32'],
      ['another shape than the model takes', [left, exactTensor('right', 'FP32', [1, 3], [4, 6, 8])], 'right'],
      ['more elements than the shape has', [left, { ...right, shape: [1, 1] }], 'right'],
      ['rows that do not match', [left, exactTensor('right', 'FP32', [2, 2], [4, 6, 8, 9])], 'batch'],
    ])('%s', async (_, inputs, text) => {
      expect(await infer({ model: 'arithmetic', inputs })).toEqual(refusal('invalid-request', text));
    });

    test('an output that the model does not have', async () => {
      const outputs = [{ name: 'quotient' }];
      expect(await infer({ model: 'arithmetic', inputs: [left, right], outputs })).toEqual(
        refusal('invalid-request', 'quotient'),
      );
    });

    test('a message that cannot be read', async () => {
      expect(await tools.face.callMalformed()).toEqual(refusal('invalid-request', ''));
      expect(await infer({ model: 'arithmetic', inputs: [left, right] })).toHaveProperty('outputs');
    });

    testWith('a limit on messages', 'a message over the limit', async () => {
      const count = bodyBytesMax / 4 + 1;
      const inputs = [exactTensor('given', 'FP32', [count], new Float32Array(count).fill(0.5))];
      expect(await infer({ model: 'passed_fp32', inputs })).toEqual(refusal('request-too-large', String(bodyBytesMax)));
    });

    test('a run that fails', async () => {
      const items = exactTensor('items', 'FP32', [2], [7, 8]);
      const ask = (index: bigint) =>
        infer({ model: 'gather', inputs: [items, exactTensor('index', 'INT64', [1], [index])] });
      expect(await ask(9n)).toEqual(refusal('inference-failed', 'indices'));
      expect(await ask(1n)).toMatchObject({ outputs: [exactTensor('item', 'FP32', [1], [8])] });
    });

    test('a request that killed two workers', async () => {
      const name = script.name('poison');
      expect(await infer({ model: 'fragile', inputs: saying('die', name) })).toEqual(refusal('poison-request', ''));
      expect(script.notes().filter((note) => note === `${name} begins`)).toHaveLength(2);
      const next = script.name('next');
      expect(await infer({ model: 'fragile', inputs: saying('pass', next) })).toHaveProperty('outputs', said(next));
    });
  });
}
