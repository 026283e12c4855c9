import { expect, test, vi } from 'vitest';
import type { Mapping } from './mapping.ts';
import { idleMappingsMax, MappingPool } from './mapping-pool.ts';

const bytes = 8192;

function mustTake(pool: MappingPool, size = bytes): Mapping {
  const mapping = pool.take(size, (reason) => expect.fail(reason));
  if (mapping === undefined) throw new Error('no memory to share');
  return mapping;
}

test('memory that was given back is handed out again, as zeros, to who wants that much', () => {
  const pool = new MappingPool();
  const first = mustTake(pool);
  first.bytes.fill(7);
  pool.giveBack(first);
  expect(mustTake(pool, 2 * bytes)).not.toBe(first);
  const again = mustTake(pool);
  expect(again).toBe(first);
  expect(again.descriptor).toBeGreaterThan(0);
  expect(again.bytes.every((byte) => byte === 0)).toBe(true);
  expect(mustTake(pool)).not.toBe(first);
});

test('memory that the system does not take back is not handed out again', () => {
  const pool = new MappingPool();
  const first = mustTake(pool);
  first.bytes.fill(7);
  vi.spyOn(first, 'discard').mockReturnValue(false);
  pool.giveBack(first);
  expect(() => first.descriptor).toThrow(/has been closed/);
  expect(mustTake(pool).bytes.every((byte) => byte === 0)).toBe(true);
});

test('no more than idleMappingsMax are kept', () => {
  const pool = new MappingPool();
  const mappings = Array.from({ length: idleMappingsMax + 1 }, () => mustTake(pool));
  for (const mapping of mappings) pool.giveBack(mapping);
  const again = Array.from({ length: idleMappingsMax + 1 }, () => mustTake(pool));
  expect(again.filter((mapping) => mappings.includes(mapping))).toHaveLength(idleMappingsMax);
});
