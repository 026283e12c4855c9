import type { StreamEntry } from '@millrace/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeEntry, encodeEntry, entryFormat } from './entry-codec.ts';

const sequence = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const payload = fc.option(fc.uint8Array({ maxLength: 40 }), { nil: undefined });
const eventTime = fc.option(fc.double({ noNaN: true }), { nil: undefined });

const entry: fc.Arbitrary<StreamEntry<Uint8Array>> = fc.oneof(
  fc.record({ kind: fc.constant('opening' as const), expiresAt: sequence, payload: fc.uint8Array() }),
  fc.record({
    kind: fc.constant('input' as const),
    sequence,
    payload,
    isLast: fc.boolean(),
    isDropped: fc.boolean(),
    eventTime,
  }),
  fc.record({ kind: fc.constant('output' as const), sequence, input: sequence, payload, isLast: fc.boolean() }),
  fc.record({
    kind: fc.constant('checkpoint' as const),
    input: sequence,
    isEndOfInput: fc.boolean(),
    state: payload,
    outputs: sequence,
    partialOutputs: sequence,
    acknowledgedOutput: sequence,
    eventTimeMax: eventTime,
  }),
  fc.record({
    kind: fc.constant('ending' as const),
    outcome: fc.constantFrom('done' as const, 'failed' as const, 'cancelled' as const, 'expired' as const),
    error: fc.option(fc.record({ code: fc.string(), message: fc.string() }), { nil: undefined }),
    outputs: sequence,
    endedAt: sequence,
  }),
);

function plain(one: StreamEntry<Uint8Array>): unknown {
  return JSON.parse(
    JSON.stringify(one, (_key, value) => {
      if (value instanceof Uint8Array) return [...value];
      if (value?.type === 'Buffer') return value.data;
      return Object.is(value, -0) ? 0 : value === Number.POSITIVE_INFINITY ? 'infinite' : value;
    }),
  );
}

test('every entry is read as it was written', () => {
  fc.assert(
    fc.property(entry, (written) => {
      expect(plain(decodeEntry(encodeEntry(written)))).toEqual(plain(written));
    }),
    { seed: 5, numRuns: 500 },
  );
});

test('an entry that is cut off inside its numbers, or of an unknown kind, is refused by name', () => {
  const bytes = encodeEntry({ kind: 'output', sequence: 7, input: 3, payload: Uint8Array.of(1), isLast: true });
  for (let length = 0; length < 18; length++) {
    expect(() => decodeEntry(bytes.subarray(0, length))).toThrow(/cannot be read/);
  }
  expect(() => decodeEntry(Uint8Array.of(99, 0))).toThrow('unknown kind 99');
});

test('a log of a later format is refused', () => {
  const bytes = encodeEntry({ kind: 'opening', expiresAt: 1, payload: new Uint8Array(0) });
  new DataView(bytes.buffer, bytes.byteOffset).setFloat64(2, entryFormat + 1, true);
  expect(() => decodeEntry(bytes)).toThrow(`this server reads up to ${entryFormat}`);
});
