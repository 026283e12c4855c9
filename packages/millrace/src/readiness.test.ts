import type { ModelStatus } from '@millrace/router';
import { expect, test } from 'vitest';
import { Readiness } from './readiness.ts';

function ready(statuses: readonly Partial<ModelStatus>[], isStrict: boolean): boolean {
  const whole = statuses.map((status) => ({ name: 'm', version: '1', state: 'ready' as const, reason: '', ...status }));
  const models = { statuses: () => whole, onChange: () => () => {} };
  return new Readiness(models as unknown as ConstructorParameters<typeof Readiness>[0], isStrict).isReady;
}

test.each<[string, Partial<ModelStatus>[], boolean, boolean]>([
  ['no model is wanted', [], true, true],
  ['all are ready', [{}, { version: '2' }], true, true],
  ['one is evicted, and loaded again on demand', [{ state: 'evicted' }], true, true],
  ['one is being unloaded', [{}, { version: '2', state: 'unloading' }], true, true],
  ['one loads', [{}, { version: '2', state: 'loading' }], false, false],
  ['a first load failed beside one that is ready', [{}, { version: '2', state: 'failed' }], false, true],
  ['an addition failed beside what serves', [{}, { version: '2', state: 'failed', isTolerated: true }], true, true],
  ['an addition loads beside what serves', [{}, { version: '2', state: 'loading', isTolerated: true }], true, true],
  ['all failed', [{ state: 'failed' }], false, false],
])('when %s', (_what, statuses, isStrictlyReady, isReady) => {
  expect([ready(statuses, true), ready(statuses, false)]).toEqual([isStrictlyReady, isReady]);
});
