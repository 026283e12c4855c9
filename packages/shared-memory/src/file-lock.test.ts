import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type FileLock, lockInherited, takeFileLock } from './file-lock.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'file-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe.runIf(process.platform === 'linux')('a file lock', () => {
  test('is held by one, also within a process, and can be taken again when it is released', () => {
    const path = join(folder, 'lock');
    const first = takeFileLock(path) as FileLock;
    expect(takeFileLock(path)).toBe('held');
    first.release();
    const second = takeFileLock(path) as FileLock;
    expect(second).toHaveProperty('release');
    second.release();
  });

  test('on an inherited descriptor is held until that is closed, and can be taken twice by it', () => {
    const path = join(folder, 'lock');
    const descriptor = openSync(path, 'w+');
    lockInherited(descriptor);
    lockInherited(descriptor);
    expect(takeFileLock(path)).toBe('held');
    const other = openSync(path, 'r+');
    expect(() => lockInherited(other)).toThrow('is locked by another process');
    closeSync(other);
    closeSync(descriptor);
    const next = takeFileLock(path) as FileLock;
    expect(next).toHaveProperty('release');
    next.release();
  });

  test('does not follow a link', () => {
    const target = join(folder, 'target');
    writeFileSync(target, 'x');
    symlinkSync(target, join(folder, 'lock'));
    expect(() => takeFileLock(join(folder, 'lock'))).toThrow('ELOOP');
    expect(readFileSync(target, 'utf8')).toBe('x');
  });
});
