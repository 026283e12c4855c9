import { expect, test } from 'vitest';
import { TextMemo, textMemoBytesMax, textMemoEntriesMax } from './text-memo.ts';

test('a repeated text is the same string, and another text at its position is not', () => {
  const memo = new TextMemo();
  const bytes = Buffer.from('..model..');
  expect(memo.read(bytes, 2, 7)).toBe('model');
  bytes.write('other', 2);
  expect(memo.read(bytes, 2, 7)).toBe('other');
  expect(memo.read(Buffer.from('model'), 0, 5)).toBe('model');
});

test('cached texts have memory of their own, independent of the message', () => {
  const memo = new TextMemo();
  for (let index = 0; index < 4 * textMemoEntriesMax; index++) {
    const message = Buffer.alloc(64 * 1024, `id ${index} `);
    memo.read(message, 0, 32);
  }
  expect(memo.keptBytes).toBeGreaterThan(0);
  expect(memo.keptBytes).toBeLessThanOrEqual(textMemoBytesMax);
});
