import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blockAlignmentBytes, FreeList } from './free-list.ts';

const block = blockAlignmentBytes;

describe('FreeList', () => {
  test('takes the lowest range that is long enough', () => {
    const list = new FreeList(8 * block);
    const first = list.take(block);
    const second = list.take(3 * block);
    const third = list.take(1);
    expect([first, second, third]).toEqual([0, block, 4 * block]);
    list.release(second as number);
    expect(list.take(2 * block)).toBe(block);
    expect(list.take(2 * block)).toBe(5 * block);
  });

  test('allocates nothing when full, and the same offset again after a release', () => {
    const list = new FreeList(2 * block);
    const all = list.take(2 * block);
    expect(list.take(1)).toBeUndefined();
    list.release(all as number);
    expect(list.take(2 * block)).toBe(0);
  });

  test('an empty range has an offset of its own, so that its release is checked', () => {
    const list = new FreeList(2 * block);
    expect([list.take(0), list.take(0), list.take(0)]).toEqual([0, block, undefined]);
  });

  test('a space shorter than a block holds nothing', () => {
    expect(new FreeList(block - 1).take(1)).toBeUndefined();
  });

  test('tells the highest end of what was lent since it was asked last', () => {
    const list = new FreeList(8 * block);
    expect(list.restartPeak()).toBe(0);
    const first = list.take(2 * block) as number;
    const second = list.take(3 * block) as number;
    list.release(second);
    expect([list.restartPeak(), list.restartPeak()]).toEqual([5 * block, 2 * block]);
    list.release(first);
    expect([list.restartPeak(), list.restartPeak()]).toEqual([2 * block, 0]);
    list.take(8 * block);
    expect([list.restartPeak(), list.restartPeak()]).toEqual([8 * block, 8 * block]);
  });

  test('a double release and a foreign release stop the process', () => {
    const list = new FreeList(4 * block);
    const offset = list.take(block) as number;
    list.release(offset);
    expect(() => list.release(offset)).toThrow(/released before, or never allocated here/);
    expect(() => list.release(3 * block)).toThrow(/released before, or never allocated here/);
  });

  test('lent ranges never overlap, and all of the space comes back, whatever the order', () => {
    const step = fc.record({ bytes: fc.integer({ min: 0, max: 9 * block }), releaseAt: fc.nat({ max: 40 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const space = 64 * block;
        const list = new FreeList(space);
        const lent: { offset: number; end: number }[] = [];
        for (const { bytes, releaseAt } of steps) {
          const offset = list.take(bytes);
          if (offset !== undefined) {
            const end = offset + Math.max(1, bytes);
            expect(offset % block).toBe(0);
            expect(end).toBeLessThanOrEqual(space);
            for (const other of lent) expect(end <= other.offset || other.end <= offset).toBe(true);
            lent.push({ offset, end });
          }
          const released = lent.splice(releaseAt, 1)[0];
          if (released !== undefined) list.release(released.offset);
          expect(list.lentBlocks).toBe(lent.length);
        }
        for (const { offset } of lent) list.release(offset);
        expect(list.lentBytes).toBe(0);
        expect(list.take(space)).toBe(0);
      }),
      { seed: 20261115, numRuns: 200 },
    );
  });
});
