/** Who is asked and on what terms: versions and labels, ids, priorities, queue timeouts, sequences, parameters. */
import { beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { FaceTools } from './contract.ts';
import { said, saying } from './scripted-model.ts';
import { exactTensor } from './tensors.ts';

export function testNames(tools: FaceTools): void {
  const { infer, script, testWith } = tools;
  const pair = [exactTensor('left', 'FP32', [1, 2], [3, 5]), exactTensor('right', 'FP32', [1, 2], [4, 6])];
  const sum = exactTensor('output', 'FP32', [1, 2], [7, 11]);
  const product = exactTensor('output', 'FP32', [1, 2], [12, 30]);

  describe('names', () => {
    beforeAll(() => tools.harness.setLabel('calculator', 'stable', '1'));

    test.each([
      ['the name alone is the highest version', { model: 'calculator' }, '2', product],
      ['a version beside the name', { model: 'calculator', version: '1' }, '1', sum],
      ['a version in the name', { model: 'calculator:1' }, '1', sum],
      ['the same version in name and field', { model: 'calculator:2', version: '2' }, '2', product],
      ['a label in the name', { model: 'calculator@stable' }, '1', sum],
    ])('%s', async (_, named, version, output) => {
      expect(await infer({ ...named, inputs: pair })).toEqual({
        model: 'calculator',
        version,
        id: '',
        outputs: [output],
      });
    });

    test('two versions that differ contradict each other', async () => {
      expect(await infer({ model: 'calculator:2', version: '1', inputs: pair })).toMatchObject({
        code: 'invalid-request',
        message: expect.stringContaining('two versions of'),
      });
    });

    test('the id of a request comes back with its answer', async () => {
      for (const id of ['42', 'größer "als" 7']) {
        expect(await infer({ model: 'calculator', id, inputs: pair })).toMatchObject({ id, outputs: [product] });
      }
    });

    testWith('free parameters', 'parameters that mean nothing to the server are no reason to refuse', async () => {
      const parameters = { colour: 'green', count: 3, share: 0.5, isNew: true };
      expect(await infer({ model: 'calculator', parameters, inputs: pair })).toMatchObject({ outputs: [product] });
    });

    testWith('free parameters', 'reserved parameters are refused by their name', async () => {
      const parameters = { triton_secret: 1 };
      expect(await infer({ model: 'calculator', parameters, inputs: pair })).toMatchObject({
        code: 'invalid-request',
        message: expect.stringContaining('triton_secret'),
      });
    });

    testWith('free parameters', 'a deadline may be a parameter', async () => {
      const ask = (milliseconds: number) =>
        infer({ model: 'calculator', parameters: { millrace_timeout_ms: milliseconds }, inputs: pair });
      expect(await ask(60_000)).toMatchObject({ outputs: [product] });
      expect(await ask(0)).toMatchObject({
        code: 'invalid-request',
        message: expect.stringContaining('millrace_timeout_ms'),
      });
    });

    test('urgent requests run before others that came earlier', async () => {
      const { face, harness } = tools;
      const holding = script.name('holding');
      const calls = [face.call({ model: 'held', inputs: saying('hold', holding) })];
      await script.begun(holding);
      const names: string[] = [];
      for (const priority of [3, 0, 1]) {
        const name = script.name(`priority${priority}`);
        names.push(name);
        calls.push(face.call({ model: 'held', priority, inputs: saying('pass', name) }));
        await eventually(`${name} waits`, async () => (await harness.waiting('held')) === names.length);
      }
      script.release(holding);
      for (const { outcome } of calls) expect(await outcome).toHaveProperty('outputs');
      const [last, usual, first] = names.map((name) => script.notes().indexOf(`${name} begins`));
      expect([first, usual, last]).toEqual([first, usual, last].toSorted((a, b) => Number(a) - Number(b)));
    });

    test('a request that waited as long as its queue timeout is refused, and never runs', async () => {
      const { face } = tools;
      const holding = script.name('holding');
      const holder = face.call({ model: 'held', inputs: saying('hold', holding) });
      await script.begun(holding);
      const late = script.name('late');
      expect(await infer({ model: 'held', queueTimeoutMs: 5, inputs: saying('pass', late) })).toMatchObject({
        code: 'queue-timeout',
        message: expect.stringContaining('timeout expired'),
      });
      script.release(holding);
      expect(await holder.outcome).toHaveProperty('outputs', said(holding));
      expect(script.hasBegun(late)).toBe(false);
    });

    test.each([
      ['text', 'an id of letters'],
      ['a number beyond 2^53', 2n ** 64n - 3n],
    ])('a sequence keeps its state from start to end under an id that is %s', async (_, id) => {
      const step = (value: number, flags: { isStart?: boolean; isEnd?: boolean } = {}) =>
        infer({
          model: 'sequence_sum',
          sequence: { id, ...flags },
          inputs: [exactTensor('INPUT', 'INT32', [1, 1], [value])],
        });
      const total = (value: number) => ({ outputs: [exactTensor('OUTPUT', 'INT32', [1, 1], [value])] });
      expect(await step(1)).toMatchObject({ code: 'invalid-request', message: expect.stringContaining('START') });
      expect(await step(1, { isStart: true })).toMatchObject(total(1));
      expect(await step(20)).toMatchObject(total(21));
      expect(await step(300, { isEnd: true })).toMatchObject(total(321));
      expect(await step(1)).toMatchObject({ code: 'invalid-request' });
    });
  });
}
