import { expect, test } from 'vitest';
import { functionDifferences, type ProfiledServer } from './profile-diff.ts';

/** One sample a millisecond from time 0 on; `(idle)`, `decode` of a file and an unnamed function are nodes 1 to 3. */
function server(
  checkoutUrl: string,
  samples: readonly number[],
  file = 'packages/http/dist/decode.js',
  answered = 10,
): ProfiledServer {
  const nodes = [
    { id: 1, callFrame: { functionName: '(idle)', url: '' } },
    { id: 2, callFrame: { functionName: 'decode', url: `${checkoutUrl}/${file}` } },
    { id: 3, callFrame: { functionName: '', url: 'node:net' } },
  ];
  const profile = { nodes, startTime: 0, samples, timeDeltas: samples.map(() => 1000) };
  return { profiles: [profile], window: [0, 1e9], answered, checkoutUrl };
}

test('self time a request is compared by function and file, the largest difference first', () => {
  expect(functionDifferences(server('file:///old', [2, 2, 3, 1]), server('file:///new', [2, 2, 2, 2, 3, 3]))).toEqual([
    { name: 'decode packages/http/dist/decode.js', before: 200, after: 400 },
    { name: '(anonymous) node:net', before: 100, after: 200 },
  ]);
});

test('a file of a bundle has one name, though its contents are part of it', () => {
  const before = server('file:///old', [2], 'packages/millrace/bundle/chunk-5WF5YJU5.js');
  const after = server('file:///new', [2, 2], 'packages/millrace/bundle/chunk-Q6WLRXEG.js');
  expect(functionDifferences(before, after)).toEqual([
    { name: 'decode packages/millrace/bundle/chunk.js', before: 100, after: 200 },
  ]);
});

test('what was done before and after the load does not count', () => {
  const whole = server('file:///old', [3, 2, 2, 3]);
  const windowed: ProfiledServer = { ...whole, window: [1500, 3500] };
  expect(functionDifferences(windowed, windowed)).toEqual([
    { name: 'decode packages/http/dist/decode.js', before: 200, after: 200 },
  ]);
});

test('time in which the process did not run does not count', () => {
  const calm = server('file:///old', [2, 2, 2]);
  const [profile] = calm.profiles as [(typeof calm.profiles)[0]];
  const preempted = { ...calm, profiles: [{ ...profile, timeDeltas: [1000, 50_000, 1000] }] };
  expect(functionDifferences(calm, preempted)[0]).toMatchObject({ before: 300, after: 400 });
});
