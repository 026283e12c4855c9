/** Work that nobody waits for is not done: expired deadlines and disconnected callers, in the queue and during a run. */
import { describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { FaceTools } from './contract.ts';
import { type FaceCall, noAnswer } from './inference-face.ts';
import { said, saying, type Verb } from './scripted-model.ts';
import { decliningModel } from './served-models.ts';

const firstDeadlineMs = 20;

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

  /** Whether the one request that `run` makes fail was counted as a request of the model. */
  async function failsOnce(model: string, code: string, run: () => Promise<void>): Promise<boolean> {
    if (lacks.metrics !== undefined) {
      await run();
      return true;
    }
    const { harness } = tools;
    const [ofModel, ofAll] = [await harness.failures(code, model), await harness.failures(code)];
    await run();
    await eventually(`${code} is counted`, async () => (await harness.failures(code)) > ofAll);
    expect(await harness.failures(code)).toBe(ofAll + 1);
    return (await harness.failures(code, model)) === ofModel + 1;
  }

  /**
   * Has a deadline pass, twice as long each time until the request came as far as it has to: on a busy machine its time may
   * be over before it is read. Returns the name of that request.
   */
  async function passDeadline(
    model: string,
    verb: Verb,
    hasCome: (name: string) => boolean | Promise<boolean>,
  ): Promise<string> {
    for (let timeoutMs = firstDeadlineMs; ; timeoutMs *= 2) {
      const name = script.name('late');
      const isCounted = await failsOnce(model, 'deadline-exceeded', async () => {
        const outcome = await infer({ model, timeoutMs, inputs: saying(verb, name) });
        expect(outcome).toMatchObject({ code: 'deadline-exceeded' });
      });
      if ((await hasCome(name)) && isCounted) return name;
    }
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
    test('a deadline that expires in the queue is answered as such, and the request never runs', async () => {
      const model = decliningModel;
      const decline = (name: string) => tools.face.call({ model, inputs: saying('decline', name) }).outcome;
      const declined = (name: string) => ({ code: 'invalid-request', message: `${name} is declined` });
      const [first, next] = [script.name('first'), script.name('next')];
      const running = decline(first);
      await script.begun(first);
      const late = await passDeadline(model, 'decline', () => true);
      expect(await tools.harness.waiting(model)).toBe(0);
      for (const name of [first, next]) script.release(name);
      expect([await running, await decline(next)]).toEqual([declined(first), declined(next)]);
      expect(script.hasBegun(late)).toBe(false);
    });

    test('a deadline that expires during the run is answered as such, and the run is cancelled', async () => {
      const late = await passDeadline('held', 'listen', async (name) => {
        // It has made room: otherwise the next one might be refused for its wait.
        await expectServed();
        return script.hasBegun(name);
      });
      await script.told(late);
    });

    test('the request of a caller that disconnects is removed from the queue and never runs', async () => {
      const { face, harness } = tools;
      const holding = await hold();
      const left = script.name('left');
      const call = face.call({ model: 'held', inputs: saying('pass', left) });
      await eventually('one waits', async () => (await harness.waiting('held')) === 1);
      const isCounted = await failsOnce('held', 'cancelled', async () => {
        call.hangUp();
        await expectGone(call);
        await eventually('none waits', async () => (await harness.waiting('held')) === 0);
      });
      expect(isCounted).toBe(true);
      await holding.release();
      await expectServed();
      expect(script.hasBegun(left)).toBe(false);
    });

    test('a caller that disconnects ends its run, and the next request runs', async () => {
      const left = script.name('left');
      const call = tools.face.call({ model: 'held', inputs: saying('listen', left) });
      await script.begun(left);
      const isCounted = await failsOnce('held', 'cancelled', async () => {
        call.hangUp();
        await expectGone(call);
        await script.told(left);
      });
      expect(isCounted).toBe(true);
      await expectServed();
    });
  });
}
