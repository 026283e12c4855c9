import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { configFlag, configVariable } from '../config/fields.ts';
import { isSupervisedByConfig } from '../run-in-process.ts';
import { type SuperviseChoice, superviseChoiceOf } from './is-supervised.ts';

let cwd: string;
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'is-supervised-'));
  writeFileSync(join(cwd, 'on.yaml'), 'server:\n  supervise: true\n');
  writeFileSync(join(cwd, 'off.yaml'), 'server:\n  supervise: false\n');
  writeFileSync(join(cwd, 'other.yaml'), 'server:\n  httpPort: 0\n');
});
afterAll(() => rmSync(cwd, { recursive: true }));

function choiceOf(args: readonly string[], environment: Record<string, string> = {}): SuperviseChoice {
  return superviseChoiceOf({ args, environment, cwd, platform: 'linux' });
}

const starts: [args: string[], environment: Record<string, string>, isSupervised: boolean][] = [
  [[], {}, true],
  [['--no-supervise'], {}, false],
  [['--supervise=false'], {}, false],
  [['--no-supervise', '--supervise'], {}, true],
  [[], { MILLRACE_SUPERVISE: 'Off' }, false],
  [[], { MILLRACE_SUPERVISE: '1' }, true],
  [[], { MILLRACE_SUPERVISE: '' }, true],
  [['--supervise'], { MILLRACE_SUPERVISE: '0' }, true],
  [['--config', 'off.yaml'], {}, false],
  [['--config=off.yaml'], {}, false],
  [['--config=off.yaml', '--config', 'on.yaml'], {}, true],
  [['--config', 'other.yaml'], {}, true],
  [[], { MILLRACE_CONFIG: 'off.yaml' }, false],
  [['--config', 'off.yaml'], { MILLRACE_SUPERVISE: 'true' }, true],
  [['--config', 'off.yaml', '--supervise=true'], {}, true],
];

// The short way and the whole configuration must not disagree.
test.each(starts)(
  'with the flags %j and the variables %j a server is supervised: %s',
  (flags, environment, expected) => {
    const args = ['serve', '.', ...flags];
    const byConfig = isSupervisedByConfig({ args, environment, cwd });
    expect(byConfig).toBe(expected);
    const choice = choiceOf(args, environment);
    expect(choice === 'by-file' ? byConfig : choice).toBe(expected);
  },
);

test('only a file that names the setting has to be read as a configuration', () => {
  expect(choiceOf(['serve', `--${configFlag}`, 'other.yaml'])).toBe(true);
  expect(choiceOf(['serve', `--${configFlag}`, 'missing.yaml'])).toBe(true);
  expect(choiceOf(['serve'], { [configVariable]: 'on.yaml' })).toBe('by-file');
});

test('a configuration that cannot be used is left to the router to report', () => {
  expect(isSupervisedByConfig({ args: ['serve', '--http-port', 'x'], environment: {}, cwd })).toBe(true);
});

test.each([[['infer', 'm']], [['serve', '--help']], [['serve', '.', '-V']], [['--version']], [[]]])(
  'millrace %j needs no supervisor',
  (args) => {
    expect(choiceOf(args)).toBe(false);
  },
);

test('a path that looks like a flag is none, and Windows has no supervisor', () => {
  expect(choiceOf(['serve', '--', '--no-supervise'])).toBe(true);
  expect(superviseChoiceOf({ args: ['serve'], environment: {}, cwd, platform: 'win32' })).toBe(false);
});
