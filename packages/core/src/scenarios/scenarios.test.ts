import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { runScenario } from '../testing/run-scenario.ts';

const folder = new URL('.', import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith('.txt'));

/** UPDATE_SCENARIOS=1 writes what the scheduler does now into the files; the change is then reviewed as a diff. */
const isUpdate = process.env.UPDATE_SCENARIOS === '1';

describe('scenario', () => {
  test.each(files)('%s', (name) => {
    const url = new URL(name, folder);
    const expected = readFileSync(url, 'utf8');
    const actual = runScenario(expected);
    if (isUpdate) writeFileSync(url, actual);
    else expect(actual).toBe(expected);
  });

  test('a wrong action in a file is noticed', () => {
    const story = 'request-arrived 1 mlp\n----\n';
    expect(runScenario(`${story}drained\n`)).toBe(
      `${story}refuse 1 model-not-ready: no worker can run mlp at the moment; retry after a pause or request another version\n`,
    );
  });

  test('a line that is not an event is refused with its text', () => {
    expect(() => runScenario('worker-gnoe 1\n----\n')).toThrow('no such event: "worker-gnoe 1"');
  });
});
