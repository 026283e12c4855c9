/** Many callers at once: everyone is answered or refused, nobody gets another's rows, nobody stops the others. */
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { FaceTools } from './contract.ts';
import { said, saying } from './scripted-model.ts';
import { queueRequestsMax } from './served-models.ts';
import { exactTensor } from './tensors.ts';

const callers = 64;
const unreadAnswers = 2;
/** Several times what sockets and windows of flow control hold. */
const unreadElements = 2 ** 20;

export function testLoad(tools: FaceTools): void {
  const { infer, script, testWith } = tools;
  const row = (name: string, first: number, second: number) => exactTensor(name, 'FP32', [1, 2], [first, second]);
  const ask = (caller: number) =>
    infer({ model: 'arithmetic', inputs: [row('left', caller, -caller), row('right', 1000, 0.5)] });
  const own = (caller: number) => ({
    outputs: [row('sum', caller + 1000, 0.5 - caller), row('product', caller * 1000, caller * -0.5)],
  });

  describe('load', () => {
    test(`${callers} callers at once each get their own rows`, async () => {
      const numbers = Array.from({ length: callers }, (_, index) => index + 1);
      expect(await Promise.all(numbers.map(ask))).toMatchObject(numbers.map(own));
    });

    test('requests beyond the queue are refused at once as model-full, the others are answered, none is lost', async () => {
      const { face, harness } = tools;
      const holding = script.name('holding');
      const holder = face.call({ model: 'held', inputs: saying('hold', holding) });
      await script.begun(holding);
      const names = Array.from({ length: 5 * queueRequestsMax }, () => script.name('crowd'));
      const refused = new Set<string>();
      const outcomes = names.map(async (name) => {
        const outcome = await infer({ model: 'held', inputs: saying('pass', name) });
        if ('code' in outcome) refused.add(name);
        return outcome;
      });
      await eventually('requests over the limit are refused', () => refused.size >= names.length - queueRequestsMax);
      expect(await harness.waiting('held')).toBe(queueRequestsMax);
      script.release(holding);
      expect(await holder.outcome).toHaveProperty('outputs', said(holding));
      for (const [index, outcome] of (await Promise.all(outcomes)).entries()) {
        const name = names[index] as string;
        if (refused.has(name)) expect(outcome).toMatchObject({ code: 'model-full' });
        else expect(outcome).toHaveProperty('outputs', said(name));
        expect(script.hasBegun(name)).toBe(!refused.has(name));
      }
      expect(refused.size).toBe(names.length - queueRequestsMax);
    });

    testWith('answers left unread', 'callers that do not read stop nobody, and lose nothing', async () => {
      const { face } = tools;
      const inputs = [exactTensor('count', 'INT64', [1], [BigInt(unreadElements)])];
      const unread = await Promise.all(
        Array.from({ length: unreadAnswers }, () => face.callUnread({ model: 'zeros', inputs })),
      );
      expect(await ask(7)).toMatchObject(own(7));
      const zeros = Buffer.alloc(4 * unreadElements);
      for (const answer of unread) {
        const outcome = await answer.read();
        expect(outcome).toMatchObject({ outputs: [{ name: 'zeros', shape: [unreadElements] }] });
        const [output] = (outcome as { outputs: readonly { data: Uint8Array }[] }).outputs;
        expect(zeros.equals(output?.data as Uint8Array)).toBe(true);
      }
    });
  });
}
