import { expect, test } from 'vitest';
import { TextTail } from './text-tail.ts';

test('the tail is the last lines without the empty ones', () => {
  const tail = new TextTail(1000);
  tail.push('one\ntw');
  tail.push('o\n\n  three \n');
  expect(tail.lastLines(2)).toBe('two | three');
  expect(tail.lastLines(9)).toBe('one | two | three');
});

test('the stack of an error does not displace its message', () => {
  const tail = new TextTail(1000);
  tail.push('Error: out of luck\n    at one (file:1:2)\n    at two (file:3:4)\n\nNode.js v20\n');
  expect(tail.lastLines(2)).toBe('Error: out of luck | Node.js v20');
});

test('the tail of an endless text stays within its maximum', () => {
  const tail = new TextTail(10);
  for (let index = 0; index < 1000; index++) tail.push('0123456789abcdef');
  expect(tail.lastLines(9)).toBe('6789abcdef');
});

test('the tail of nothing is empty', () => {
  expect(new TextTail(10).lastLines(3)).toBe('');
});
