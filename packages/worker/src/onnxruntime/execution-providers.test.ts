import type { LoadSpec } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { executionProvidersOf } from './execution-providers.ts';

const spec = { name: 'm' } as LoadSpec;

test('each provider is followed by the providers for operators that it cannot run', () => {
  expect(executionProvidersOf(spec)).toEqual(['cpu']);
  expect(executionProvidersOf({ ...spec, gpu: { id: 1, provider: 'cuda' } })).toEqual([
    { name: 'cuda', deviceId: 1 },
    'cpu',
  ]);
  expect(executionProvidersOf({ ...spec, gpu: { id: 0, provider: 'tensorrt' } })).toEqual([
    { name: 'tensorrt', deviceId: 0 },
    { name: 'cuda', deviceId: 0 },
    'cpu',
  ]);
});
