import { expect, test } from 'vitest';
import { KeptOpening } from './kept-opening.ts';
import { decodeOpening, encodeOpening, type OpeningRecord, parametersDigest } from './opening-record.ts';

const parameters = { seed: 12345678901234567890n, text: 'ü\n', nested: { list: [1, 0.5, null] } };
const record: OpeningRecord = {
  principal: '',
  caller: '192.0.2.1',
  context: 'listener@stable',
  parameters,
  parametersDigest: parametersDigest(parameters),
  model: 'listener',
  version: '3',
  modelDigest: 'digest',
  modelKind: 'stateful',
  isResumable: true,
  exactness: { verdict: 'exact', reason: '' },
  openedAtMs: 1_700_000_000_000,
};

test('an opening whose bytes were let go gives the same bytes again', () => {
  const opening = new KeptOpening(record, 7);
  const first = opening.payload;
  expect(opening.payload).toBe(first);
  opening.letBytesGo();
  expect(opening.payload).not.toBe(first);
  expect(opening.payload).toEqual(first);
  expect(opening).toMatchObject({ kind: 'opening', expiresAt: 7 });
});

test('an opening that was read from a journal gives the bytes that were read', () => {
  const bytes = encodeOpening(record);
  expect(new KeptOpening(decodeOpening(bytes), 7).payload).toEqual(bytes);
});
