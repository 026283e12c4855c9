/** How faces end with their server: requests in progress are answered, later ones are refused. */
import { afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { FaceUnderTest } from './contract.ts';
import { type Script, said, saying } from './scripted-model.ts';
import type { ServerHarness } from './server-harness.ts';
import { exactTensor } from './tensors.ts';

export interface FaceEnding {
  /** Resolves when nothing new is taken any more. */
  begin(): Promise<void>;
  /** Resolves when everything is over. */
  over(): Promise<void>;
  harness(): ServerHarness;
  /** What a new caller hears meanwhile. */
  readonly code: string;
}

/** Must be the last test of these faces. All of them share one server. */
export function endingContract(subjects: readonly FaceUnderTest[], script: Script, ending: FaceEnding): void {
  describe(`ending: ${subjects.map(({ name }) => name).join(', ')}`, () => {
    afterEach(() => script.releaseAll());

    test(`requests in progress are answered, and new ones are told: ${ending.code}`, async () => {
      const pair = [exactTensor('left', 'FP32', [1, 2], [3, 5]), exactTensor('right', 'FP32', [1, 2], [4, 6])];
      const calls = subjects.map((subject) => {
        const name = script.name('held');
        const face = subject.open();
        const { outcome } = face.call({ model: 'held', inputs: saying('hold', name) });
        return { subject, face, name, outcome };
      });
      await eventually('one runs and the others wait', async () => {
        const isRunning = calls.some(({ name }) => script.hasBegun(name));
        return isRunning && (await ending.harness().waiting('held')) === calls.length - 1;
      });
      await ending.begin();
      for (const { subject } of calls) {
        const late = subject.open();
        expect([
          subject.name,
          await late.call({ model: 'arithmetic', inputs: pair }).outcome,
          await late.call({ model: 'held', inputs: saying('pass', script.name('late')) }).outcome,
        ]).toMatchObject([subject.name, { code: ending.code }, { code: ending.code }]);
        late.close();
      }
      for (const { name } of calls) script.release(name);
      for (const { name, outcome, face } of calls) {
        expect(await outcome).toHaveProperty('outputs', said(name));
        face.close();
      }
      await ending.over();
    });
  });
}
