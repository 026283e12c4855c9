import { expect, test } from 'vitest';
import { runArguments } from '../../testing/run-arguments.ts';
import type { DrillResult } from './drill-stream.ts';
import { drillVerdict } from './drill-verdict.ts';

const undisturbed: DrillResult = {
  outputs: ['{"output":1}', '{"output":2}'],
  text: '',
  ended: { outcome: 'done', outputs: 2 },
  losses: [],
  gap: { ms: 3, beforeOutput: 2 },
};
const lost = { ...undisturbed, losses: ['UNAVAILABLE'], gap: { ms: 41.6, beforeOutput: 2 } };

test('equal outputs pass, where the client noticed what it should', () => {
  expect(drillVerdict('link', undisturbed, lost)).toEqual({
    kind: 'link',
    isPassed: true,
    outputs: 2,
    reconnects: 1,
    gapMs: 42,
    text: 'equal: all 2 outputs are those of the undisturbed run; the client saw status=UNAVAILABLE; its longest gap was 42 ms, before seq=2',
  });
  expect(drillVerdict('worker', undisturbed, undisturbed).isPassed).toBe(true);
});

test.each<[Parameters<typeof drillVerdict>[0], Partial<DrillResult>, RegExp]>([
  [
    'link',
    { outputs: ['{"output":1}', '{"output":9}'] },
    /FAILED: output 2 is {"output":9}, in the undisturbed run {"output":2}/,
  ],
  ['router', { outputs: ['{"output":1}'] }, /FAILED: output 2 is missing/],
  ['router', { outputs: [...undisturbed.outputs, '{"output":3}'] }, /FAILED: 3 outputs came, and 2 undisturbed/],
  ['link', { losses: [] }, /FAILED: the connection was not lost: nothing was rehearsed/],
  ['worker', {}, /FAILED: the connection was lost, which it should not be/],
  ['store-pause', {}, /FAILED: the connection was lost/],
  [
    'link',
    { ended: { outcome: 'failed', code: 'worker-lost', message: 'gone', outputs: 1 } },
    /ended as failed: worker-lost: gone/,
  ],
])('a stream of kind %s with %j does not pass', (kind, change, message) => {
  const verdict = drillVerdict(kind, undisturbed, { ...lost, ...change });
  expect(verdict.text).toMatch(message);
  expect(verdict.isPassed).toBe(false);
});

test.each([
  [['--kind', 'earthquake'], /--kind: must be one of link, worker, router, store-pause or all, not "earthquake"/],
  [['--router-pid', '12'], /--router-pid: has no effect without --url/],
  [['--url', 'http://127.0.0.1:8000', '--models', '.'], /--models: has no effect with --url/],
  [['--url', 'http://127.0.0.1:8000', '--router-pid', '1'], /--router-pid: must be a whole number from 2/],
  [['--url', 'https://127.0.0.1:8000'], /--kind link: is possible with http:\/\/ only/],
  [['--url', 'http://127.0.0.1:8000', '--kind', 'router'], /--kind router: needs the process to kill/],
  [['--pause', '11'], /--pause: must be seconds from 0.1 to 10, not "11"/],
  [['--deadline', '0'], /--deadline: must be seconds from 0.1 to 600, not "0"/],
  [['--after', '0'], /--after: must be a whole number from 1 to 10000, not "0"/],
  [['--parameters', '7'], /--parameters: must be a JSON object/],
])('%j is refused with exit code 2 before anything is started', async (args, message) => {
  const { code, stdout, stderr } = await runArguments({ args: ['drill', ...args], cwd: '.' });
  expect(stderr).toMatch(message);
  expect([code, stdout]).toEqual([2, '']);
});

test('a drill without models says how to give them', async () => {
  const { code, stderr } = await runArguments({ args: ['drill', '--models', '/nowhere'], cwd: '/' });
  expect(stderr).toMatch(
    /there are no models in \/nowhere; give a folder with a generator with --models PATH --model NAME/,
  );
  expect(code).toBe(1);
});
