import { describe, expect, test } from 'vitest';
import { delimitedHead, varint } from './protobuf-fields.ts';

/** As the format describes it: seven bits a byte, the lowest first. */
function numberIn(bytes: Uint8Array): bigint {
  return [...bytes].reduceRight((value, byte) => (value << 7n) | BigInt(byte & 127), 0n);
}

describe('a varint', () => {
  test.each([0, 1, 127, 128, 300, 2 ** 14, 2 ** 28 - 1, 2 ** 31, 2 ** 32, 2 ** 35, Number.MAX_SAFE_INTEGER])(
    '%d is the same as a number and as a bigint',
    (value) => {
      const bytes = varint(value);
      expect(numberIn(bytes)).toBe(BigInt(value));
      expect(varint(BigInt(value))).toEqual(bytes);
      expect([...bytes].map((byte) => byte >= 128)).toEqual([...bytes].map((_, at) => at < bytes.length - 1));
    },
  );

  test.each([-1, -300, -(2 ** 40)])('%d is written by its 64 bits', (value) => {
    expect(varint(value)).toHaveLength(10);
    expect(numberIn(varint(value))).toBe(BigInt.asUintN(64, BigInt(value)));
  });

  test('300 is what the specification says', () => {
    expect([...varint(300)]).toEqual([0xac, 0x02]);
  });
});

test.each([
  [1, 0, [0x0a, 0]],
  [15, 127, [0x7a, 127]],
  [16, 128, [0x82, 0x01, 0x80, 0x01]],
])('the head of field %d with %d bytes', (field, bytes, expected) => {
  expect([...delimitedHead(field, bytes)]).toEqual(expected);
});
