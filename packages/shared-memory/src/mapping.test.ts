import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, fstatSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedPageBytes, takeInheritedMapping, takeNewMapping } from './mapping.ts';

const distUrl = new URL('../dist/index.js', import.meta.url);
const dist = JSON.stringify(distUrl.href);
const mustNotFail = (reason: string): never => {
  throw new Error(reason);
};

beforeAll(() => {
  if (!existsSync(fileURLToPath(distUrl))) throw new Error('run `npm run build` first: child processes need dist/');
});

describe.runIf(process.platform === 'linux')('on Linux', () => {
  test('two processes see each other’s writes, and the descriptor can be closed on both sides', async () => {
    const mapping = takeNewMapping(65_536, mustNotFail);
    if (mapping === undefined) throw new Error('no mapping');
    mapping.bytes[0] = 1;
    const script = `
      import { takeInheritedMapping } from ${dist};
      const mapping = takeInheritedMapping(3, 65536, (reason) => { throw new Error(reason); });
      mapping.bytes[65535] = mapping.bytes[0] + 41;`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', 'inherit', mapping.descriptor],
    });
    mapping.closeDescriptor();
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    expect(mapping.bytes[65_535]).toBe(42);
    expect(() => mapping.descriptor).toThrow(/has been closed/);
  });

  test('discarded memory reads as zeros and can be written again', () => {
    const mapping = takeNewMapping(1 << 20, mustNotFail);
    mapping?.bytes.fill(9);
    mapping?.discard();
    expect(mapping?.bytes.every((byte) => byte === 0)).toBe(true);
    mapping?.bytes.fill(3);
    expect(mapping?.bytes[1234]).toBe(3);
    mapping?.closeDescriptor();
  });

  test('the system takes back whole pages only', () => {
    const pageBytes = sharedPageBytes();
    const mapping = takeNewMapping(4 * pageBytes, mustNotFail);
    mapping?.bytes.fill(9);
    expect(mapping?.pageBytes).toBe(pageBytes);
    expect(mapping?.discard(1, pageBytes)).toBe(false);
    expect(mapping?.discard(pageBytes, pageBytes)).toBe(true);
    expect([0, 1, 2].map((page) => mapping?.bytes[page * pageBytes])).toEqual([9, 0, 9]);
    mapping?.closeDescriptor();
  });

  test('the other process cannot shrink the memory under our feet', async () => {
    const mapping = takeNewMapping(8192, mustNotFail);
    if (mapping === undefined) throw new Error('no mapping');
    const script = `try { require('fs').ftruncateSync(3, 0); } catch (error) { process.exit(error.code === 'EPERM' ? 7 : 8); }`;
    const child = spawn(process.execPath, ['-e', script], {
      stdio: ['ignore', 'ignore', 'inherit', mapping.descriptor],
    });
    const [code] = await once(child, 'exit');
    expect(code).toBe(7);
    expect(fstatSync(mapping.descriptor).size).toBe(8192);
    mapping.closeDescriptor();
  });

  test('mappings nobody can reach any more are unmapped', () => {
    const script = `
      import { readFileSync } from 'node:fs';
      import { takeNewMapping } from ${dist};
      const mapped = () => readFileSync('/proc/self/maps', 'utf8').split('memfd:millrace').length - 1;
      const fail = (reason) => { throw new Error(reason); };
      const viewOfNewMapping = (index) => {
        const mapping = takeNewMapping(1 << 20, fail);
        mapping.bytes[5] = index;
        mapping.closeDescriptor();
        return mapping.bytes.subarray(5, 6);
      };
      const kept = viewOfNewMapping(10);
      for (let index = 0; index < 50; index++) viewOfNewMapping(index);
      viewOfNewMapping(50);
      for (let turn = 0; turn < 50 && mapped() > 1; turn++) {
        gc();
        await new Promise((resolve) => setImmediate(resolve));
      }
      console.log(mapped(), kept[0]);`;
    const child = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
      encoding: 'utf8',
    });
    expect(child.stderr).toBe('');
    expect(child.stdout.trim()).toBe('1 10');
  });

  test('a descriptor with less memory than announced is refused, not mapped', () => {
    const mapping = takeNewMapping(4096, mustNotFail);
    const reasons: string[] = [];
    expect(takeInheritedMapping(mapping?.descriptor ?? -1, 8192, (reason) => reasons.push(reason))).toBeUndefined();
    expect(reasons[0]).toMatch(/has 4096 bytes of memory, not 8192/);
    mapping?.closeDescriptor();
  });
});

test('unavailable memory is undefined with a reason', () => {
  const reasons: string[] = [];
  expect(takeNewMapping(2 ** 52, (reason) => reasons.push(reason))).toBeUndefined();
  expect(takeInheritedMapping(9999, 4096, (reason) => reasons.push(reason))).toBeUndefined();
  expect(reasons.length).toBe(2);
  for (const reason of reasons) expect(reason).toMatch(/^shared memory is not available: /);
});
