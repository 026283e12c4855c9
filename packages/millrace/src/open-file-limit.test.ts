import { acceptsPerTurn } from '@millrace/http';
import { ConfigError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { fittingConnections, mustAllowStart, readOpenFiles, reservedDescriptors } from './open-file-limit.ts';

const others = 30 + 4 * acceptsPerTurn + 16 + 4 * 3 + reservedDescriptors(4);

test('a limit of connections that fits stays as it is', () => {
  expect(fittingConnections(10_000, 16, { max: 20_000, open: 30 })).toBe(10_000);
  expect(fittingConnections(10_000, 16, { max: Number.POSITIVE_INFINITY, open: 30 })).toBe(10_000);
  expect(fittingConnections(10_000, 16, { max: 10_000 + others, open: 30 })).toBe(10_000);
});

test('one that does not is lowered by what workers, files and operators need', () => {
  expect(fittingConnections(10_000, 16, { max: 9_999 + others, open: 30 })).toBe(9_999);
  expect(fittingConnections(10_000, 16, { max: 1024, open: 30 })).toBe(1024 - others);
  expect(fittingConnections(100, 16, { max: 1024, open: 30 })).toBe(100);
});

test('where not even a few connections fit, the start fails and says what to do', () => {
  expect(fittingConnections(10_000, 16, { max: 8 + others, open: 30 })).toBe(8);
  const start = () => fittingConnections(10_000, 16, { max: 7 + others, open: 30 });
  expect(start).toThrow(ConfigError);
  expect(start).toThrow(/connectionsMax.*limit of open files is \d+; raise it \(ulimit -n/);
  expect(fittingConnections(2, 16, { max: 2 + others, open: 30 })).toBe(2);
});

test('where the program cannot be loaded, the start fails before it is', () => {
  expect(() => mustAllowStart({ max: 255, open: 20 })).toThrow(
    /needs 256 open files or more.*is 255; raise it \(ulimit/,
  );
  mustAllowStart({ max: 256, open: 20 });
  mustAllowStart(undefined);
});

test('every further worker keeps descriptors free for its restart', () => {
  expect(reservedDescriptors(5) - reservedDescriptors(4)).toBeGreaterThanOrEqual(7);
});

test.skipIf(process.platform === 'win32')('the limit and what is open are read from the system', () => {
  const files = readOpenFiles();
  expect(files?.max).toBeGreaterThan(0);
  expect(files?.open).toBeGreaterThan(2);
});
