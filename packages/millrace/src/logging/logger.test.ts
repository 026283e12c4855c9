import { expect, test } from 'vitest';
import type { Options } from '../config/fields.ts';
import { resolveConfig } from '../config/resolve-config.ts';
import { type Paint, paintOf } from '../terminal.ts';
import { createLogger } from './logger.ts';
import { prettyLine } from './pretty-line.ts';

const plain: Paint = paintOf({ hasColours: false });

function logged(
  log: NonNullable<Options['log']>,
  isTerminal: boolean,
  use: (logger: ReturnType<typeof createLogger>) => void,
): string {
  let text = '';
  const write = (more: string): void => {
    text += more;
  };
  use(createLogger({ config: resolveConfig({ options: { log }, cwd: '/' }), isTerminal, paint: plain, write }));
  return text;
}

test('the JSON format has one object a line, with level names and ISO times', () => {
  const text = logged({}, false, (logger) => {
    logger.debug('not shown');
    logger.info({ model: 'mlp' }, 'model ready');
    logger.error({ error: new Error('boom') }, 'failed');
  });
  const [first, second, ...none] = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(none).toEqual([]);
  expect(first).toMatchObject({ level: 'info', server: 'millrace', model: 'mlp', message: 'model ready' });
  expect(first?.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  expect(second).toMatchObject({ level: 'error', error: { message: 'boom' } });
});

test('the pretty format has short lines', () => {
  const text = logged({}, true, (logger) => logger.warn({ model: 'mlp', path: 'a b' }, 'slow'));
  expect(text).toMatch(/^\d\d:\d\d:\d\d warn {2}slow {2}model=mlp {2}path="a b"\n$/);
});

test.each([
  ['json', true, '{'],
  ['pretty', false, '\\d'],
  ['auto', false, '{'],
  ['auto', true, '\\d'],
] as const)('the format %s with a terminal being %s decides', (format, isTerminal, start) => {
  expect(logged({ format }, isTerminal, (logger) => logger.info('x'))).toMatch(new RegExp(`^${start}`));
});

test('the level decides what is logged, down to nothing', () => {
  const use = (logger: ReturnType<typeof createLogger>): void => {
    logger.trace('t');
    logger.fatal('f');
  };
  expect(logged({ level: 'trace' }, false, use).trimEnd().split('\n')).toHaveLength(2);
  expect(logged({ level: 'silent' }, false, use)).toBe('');
});

test('an error is shown with its stack, and a line that is no JSON is left alone', () => {
  const line = JSON.stringify({
    level: 'error',
    time: '2026-01-01T10:20:30.000Z',
    message: 'm',
    error: { stack: 'Error: x\n  at y' },
  });
  expect(prettyLine(line, plain)).toBe('10:20:30 error m\n    Error: x\n      at y\n');
  expect(prettyLine('oops\n', plain)).toBe('oops\n');
  expect(prettyLine(line, paintOf({ hasColours: true }))).toContain('\u001b[31merror\u001b[0m');
});
