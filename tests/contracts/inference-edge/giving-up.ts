/** Work that nobody waits for is not done: deadlines that pass and callers that go away, in the queue and in the run. */
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { FaceTools } from './contract.ts';
import { type FaceCall, noAnswer } from './inference-face.ts';
import { said, saying } from './scripted-model.ts';
import { decliningModel } from './served-models.ts';

/** The first deadline of a request that has to begin before it passes; it is doubled until that is so. */
const firstDeadlineMs = 50;

export function testGivingUp(tools: FaceTools): void {
  const { infer, script, lacks } = tools;

  /** A run of `held` that ends when the test says so: what comes now waits. */
  async function hold(): Promise<{ release(): Promise<void> }> {
    const name = script.name('holding');
    const call = tools.face.call({ model: 'held', inputs: saying('hold', name) });
    await script.begun(name);
    return {
      async release() {
        script.release(name);
        expect(await call.outcome).toHaveProperty('outputs', said(name));
      },
    };
  }

  /** Runs the case, then waits until the metrics have one more failure of this code. */
  async function failsOnce(model: string, code: string, run: () => Promise<void>): Promise<void> {
    if (lacks.metrics !== undefined) {
      await run();
      return;
    }
    const { backstage } = tools;
    const before = await backstage.failures(model, code);
    await run();
    await eventually(`${code} is counted`, async () => (await backstage.failures(model, code)) > before);
    expect(await backstage.failures(model, code)).toBe(before + 1);
  }

  async function expectServed(): Promise<void> {
    const next = script.name('next');
    expect(await infer({ model: 'held', inputs: saying('pass', next) })).toHaveProperty('outputs', said(next));
  }

  /** A caller that went away is told nothing, unless it asks in the same process. */
  async function expectGone({ outcome }: FaceCall): Promise<void> {
    expect([noAnswer, 'cancelled']).toContain(((await outcome) as { readonly code?: string }).code);
  }

  describe('giving up', () => {
    test('a deadline that passes in the queue is answered as such, and the request never runs', async () => {
      const model = decliningModel;
      const decline = (name: string) => tools.face.call({ model, inputs: saying('decline', name) }).outcome;
      const declined = (name: string) => ({ code: 'invalid-request', message: `${name} is declined` });
      const [first, late, next] = [script.name('first'), script.name('late'), script.name('next')];
      const running = decline(first);
      await script.begun(first);
      await failsOnce(model, 'deadline-exceeded', async () => {
        expect(await infer({ model, timeoutMs: 5, inputs: saying('pass', late) })).toMatchObject({
          code: 'deadline-exceeded',
        });
      });
      expect(await tools.backstage.waiting(model)).toBe(0);
      for (const name of [first, next]) script.release(name);
      expect([await running, await decline(next)]).toEqual([declined(first), declined(next)]);
      expect(script.hasBegun(late)).toBe(false);
    });

    test('a deadline that passes in the run is answered as such, and the run is told', async () => {
      let timeoutMs = firstDeadlineMs;
      for (;;) {
        const name = script.name('listener');
        await failsOnce('held', 'deadline-exceeded', async () => {
          const outcome = await infer({ model: 'held', timeoutMs, inputs: saying('listen', name) });
          expect(outcome).toMatchObject({ code: 'deadline-exceeded' });
        });
        await expectServed();
        if (script.hasBegun(name)) {
          await script.told(name);
          return;
        }
        timeoutMs *= 2;
      }
    });

    test('a caller that goes away gives up its place in the queue, and its request never runs', async () => {
      const { face, backstage } = tools;
      const holding = await hold();
      const left = script.name('left');
      const call = face.call({ model: 'held', inputs: saying('pass', left) });
      await eventually('one waits', async () => (await backstage.waiting('held')) === 1);
      await failsOnce('held', 'cancelled', async () => {
        call.hangUp();
        await expectGone(call);
        await eventually('none waits', async () => (await backstage.waiting('held')) === 0);
      });
      await holding.release();
      await expectServed();
      expect(script.hasBegun(left)).toBe(false);
    });

    test('a caller that goes away ends its run, and the next request has its place', async () => {
      const left = script.name('left');
      const call = tools.face.call({ model: 'held', inputs: saying('listen', left) });
      await script.begun(left);
      await failsOnce('held', 'cancelled', async () => {
        call.hangUp();
        await expectGone(call);
        await script.told(left);
      });
      await expectServed();
    });
  });
}
