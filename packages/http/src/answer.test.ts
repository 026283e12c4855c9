import { expect, test } from 'vitest';
import { bodyLengthBytes, mayCarryBody, ownFields, releaseOnce } from './answer.ts';

test('release runs once, at the first ending, also when it throws', () => {
  let releases = 0;
  const errors: unknown[] = [];
  const release = releaseOnce(
    {
      status: 200,
      headers: [],
      release: () => {
        releases += 1;
        throw new Error('failed');
      },
    },
    (error) => errors.push(error),
  );
  release();
  release();
  expect([releases, errors.length]).toEqual([1, 1]);
  releaseOnce({ status: 200, headers: [] }, (error) => errors.push(error))();
  expect(errors.length).toBe(1);
});

test('the length of a body is known unless it is streamed', () => {
  async function* made(): AsyncGenerator<Uint8Array> {
    yield new Uint8Array(1);
  }
  expect(bodyLengthBytes(undefined)).toBe(0);
  expect(bodyLengthBytes(new Uint8Array(3))).toBe(3);
  expect(bodyLengthBytes([new Uint8Array(3), new Uint8Array(0), new Uint8Array(4)])).toBe(7);
  expect(bodyLengthBytes(made())).toBeUndefined();
});

test('HEAD, 204 and 304 carry no body', () => {
  expect([mayCarryBody('GET', 200), mayCarryBody('POST', 500)]).toEqual([true, true]);
  expect([mayCarryBody('HEAD', 200), mayCarryBody('GET', 204), mayCarryBody('GET', 304)]).toEqual([
    false,
    false,
    false,
  ]);
});

test('fields of the transport are removed from what a handler sends', () => {
  const plain = [['x-a', '1']] as const;
  expect(ownFields(plain)).toBe(plain);
  expect(
    ownFields([['content-length', '5'], ...plain, ['transfer-encoding', 'chunked'], ['connection', 'close']]),
  ).toEqual(plain);
});
