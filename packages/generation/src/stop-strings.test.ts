import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StopStringScanner } from './stop-strings.ts';

function scanned(
  stops: readonly string[],
  parts: readonly string[],
): { texts: string[]; stoppedBy: string | undefined } {
  const scanner = new StopStringScanner(stops);
  const texts: string[] = [];
  for (const part of parts) {
    const { text, stoppedBy } = scanner.push(part);
    texts.push(text);
    if (stoppedBy !== undefined) return { texts, stoppedBy };
  }
  return { texts: [...texts, scanner.end()], stoppedBy: undefined };
}

test('a stop string across parts ends the text before it, and nothing of it is passed on', () => {
  expect(scanned(['\n\nUser:'], ['Hello.\n', '\nUs', 'er: more'])).toEqual({
    texts: ['Hello.', '', ''],
    stoppedBy: '\n\nUser:',
  });
});

test('what may be a stop string is held back, and released when it is none or at the end', () => {
  expect(scanned(['abc'], ['xab', 'ab', 'd', 'ab'])).toEqual({
    texts: ['x', 'ab', 'abd', '', 'ab'],
    stoppedBy: undefined,
  });
});

test('the match that is complete first wins, and of those that end together the longest', () => {
  expect(scanned(['abcd', 'c'], ['abcd'])).toEqual({ texts: ['ab'], stoppedBy: 'c' });
  expect(scanned(['b', 'ab'], ['xab'])).toEqual({ texts: ['x'], stoppedBy: 'ab' });
});

test('a stop string that begins within another is found', () => {
  expect(scanned(['aab'], ['aa', 'a', 'b'])).toEqual({ texts: ['', 'a', ''], stoppedBy: 'aab' });
});

test('without stop strings everything passes', () => {
  expect(scanned([], ['a', 'b'])).toEqual({ texts: ['a', 'b', ''], stoppedBy: undefined });
});

test('where the parts end does not matter', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '😀', '😁'), minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 3 }), fc.array(letters, { maxLength: 10 }), (stops, parts) => {
      const whole = scanned(stops, [parts.join('')]);
      const divided = scanned(stops, parts);
      expect(divided.texts.join('')).toBe(whole.texts.join(''));
      expect(divided.stoppedBy).toBe(whole.stoppedBy);
      for (const text of divided.texts) expect(text).not.toMatch(/\p{Surrogate}/u);
      for (const stop of stops) expect(divided.texts.join('')).not.toContain(stop);
    }),
    { seed: 1, numRuns: 1000 },
  );
});
