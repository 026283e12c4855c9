import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ChunkedDecoder } from './chunked-decoder.ts';

function decode(text: string, pieceBytes: number): { data: string; rest: string; isLast: boolean; isBroken: boolean } {
  const bytes = Buffer.from(text, 'latin1');
  const decoder = new ChunkedDecoder();
  let data = '';
  let at = 0;
  while (at < bytes.length && !decoder.isLast && !decoder.isBroken) {
    const chunk = bytes.subarray(at, at + pieceBytes);
    at += decoder.decode(chunk, 0, (piece) => {
      data += piece.toString('latin1');
    });
  }
  return { data, rest: bytes.toString('latin1', at), isLast: decoder.isLast, isBroken: decoder.isBroken };
}

test('any body, in any chunks and split anywhere, is decoded unchanged', () => {
  const chunk = fc.tuple(fc.stringMatching(/^[ -~]{1,40}$/), fc.constantFrom('', ';a', ';a=b', ' ; a="b;c"'));
  fc.assert(
    fc.property(fc.array(chunk), fc.integer({ min: 1, max: 30 }), (chunks, pieceBytes) => {
      const coded = chunks
        .map(([data, extension]) => `${data.length.toString(16)}${extension}\r\n${data}\r\n`)
        .join('');
      expect(decode(`${coded}0\r\n\r\nnext`, pieceBytes)).toEqual({
        data: chunks.map(([data]) => data).join(''),
        rest: '\r\nnext',
        isLast: true,
        isBroken: false,
      });
    }),
    { seed: 9112, numRuns: 300 },
  );
});

test('data before an error is passed on, nothing after it', () => {
  expect(decode('3\r\nabc\r\n3\r\ndefX5\r\n', 100)).toMatchObject({ data: 'abcdef', isBroken: true, isLast: false });
});
