import { formatConfigProblem } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { completionCommand, inferCommand, serveCommand, versionCommand } from './command-table.ts';
import { parseArguments } from './parse-arguments.ts';

function given(args: string[]) {
  const parsed = parseArguments(serveCommand, args);
  expect(parsed.problems).toEqual([]);
  return parsed.flags.given().map(({ spec, value }) => [spec.flag, value]);
}

test.each<[string[], [string, string | boolean][]]>([
  [['--http-port', '1'], [['http-port', '1']]],
  [['--http-port=1'], [['http-port', '1']]],
  [['--http-port='], [['http-port', '']]],
  [['--http-port', '-1'], [['http-port', '-1']]],
  [['--models=a=b'], [['models', 'a=b']]],
  [
    ['--models', 'a', '--models', 'b'],
    [
      ['models', 'a'],
      ['models', 'b'],
    ],
  ],
  [['--shared-memory'], [['shared-memory', true]]],
  [['--no-shared-memory'], [['shared-memory', false]]],
  [['--shared-memory=false'], [['shared-memory', false]]],
  [['--log-requests', 'x'], [['log-requests', true]]],
  [['-h'], [['help', true]]],
  [['-V'], [['version', true]]],
])('%j is understood', (args, expected) => {
  expect(given(args)).toEqual(expected);
});

test('arguments that are not flags are positional, and so is everything after two dashes', () => {
  const parsed = parseArguments(serveCommand, ['a', '--id', 'x', 'b', '-', '--', '--id', '-h']);
  expect(parsed.positionals).toEqual(['a', 'b', '-', '--id', '-h']);
  expect(parsed.flags.takeText('id')).toBe('x');
});

test('the last of several values counts, unless the flag is a list', () => {
  const { flags } = parseArguments(inferCommand, [
    'm',
    '--seed',
    '1',
    '--seed',
    '2',
    '--input',
    'a=1',
    '--input',
    'b=2',
  ]);
  expect(flags.takeText('seed')).toBe('2');
  expect(flags.allTexts('input')).toEqual(['a=1', 'b=2']);
  expect(flags.takeText('data')).toBeUndefined();
  expect(flags.isOn('json')).toBe(false);
});

test.each([
  [serveCommand, ['--http-prot', '1'], '--http-prot: is not a flag of millrace serve. Did you mean --http-port?'],
  [serveCommand, ['--port', '1'], '--port: is not a flag of millrace serve. Did you mean --http-port?'],
  [serveCommand, ['-p', '1'], '-p: is not a flag of millrace serve. Did you mean --http-port?'],
  [
    serveCommand,
    ['--model-repository=x'],
    '--model-repository: is not a flag of millrace serve. Did you mean --models?',
  ],
  [
    serveCommand,
    ['--no-share-memory'],
    '--no-share-memory: is not a flag of millrace serve. Did you mean --no-shared-memory?',
  ],
  [serveCommand, ['--no-http-port'], '--no-http-port: is not a flag of millrace serve. Did you mean --http-port?'],
  [serveCommand, ['--constructor'], '--constructor: is not a flag of millrace serve.'],
  [serveCommand, ['--http-port'], '--http-port: needs a value: --http-port PORT'],
  [serveCommand, ['--http-port', '--id', 'x'], '--http-port: needs a value: --http-port PORT'],
  [serveCommand, ['--shared-memory=maybe'], '--shared-memory: takes no value but true or false'],
  [serveCommand, ['--no-shared-memory=true'], '--no-shared-memory: takes no value but true or false'],
  [inferCommand, ['m', '--json=x'], '--json: takes no value'],
  [inferCommand, ['m', 'n'], 'n: is one argument too many for millrace infer'],
  [versionCommand, ['x'], 'x: is one argument too many for millrace version'],
  [completionCommand, ['bash', '--shell'], '--shell: is not a flag of millrace completion.'],
])('%o %j is reported', (command, args, problem) => {
  expect(parseArguments(command, args).problems.map(formatConfigProblem)).toEqual([problem]);
});

test('all problems are reported at once', () => {
  const { problems } = parseArguments(serveCommand, ['--a', '--http-port', '--b=1', '--id']);
  expect(problems).toHaveLength(4);
});
