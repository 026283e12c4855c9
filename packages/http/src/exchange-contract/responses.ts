import { expect, test } from 'vitest';
import { type ExchangeHarness, latch, ok, utf8Bytes, utf8Text } from './subject.ts';

/** What a client sees of a response. */
export function responseTests(bench: ExchangeHarness): void {
  test('status, fields and one piece reach the client, with the length', async () => {
    const { call } = await bench.serve(() => ({
      status: 418,
      headers: [
        ['x-pot', 'tea'],
        ['content-length', '999'],
      ],
      body: utf8Bytes('short'),
    }));
    const reply = await call({ target: '/' });
    expect(reply.status).toBe(418);
    expect(reply.headers.get('x-pot')).toBe('tea');
    expect(reply.headers.get('content-length')).toBe('5');
    expect(utf8Text(reply.body)).toBe('short');
  });

  test('several pieces, also empty ones, arrive in order as one body', async () => {
    const { call } = await bench.serve(() => ({
      ...ok,
      body: [utf8Bytes('a'), new Uint8Array(0), utf8Bytes('bc'), utf8Bytes('d'.repeat(200_000))],
    }));
    const reply = await call({ target: '/' });
    expect(reply.headers.get('content-length')).toBe('200003');
    expect(utf8Text(reply.body)).toBe(`abc${'d'.repeat(200_000)}`);
  });

  test('a streamed body arrives whole, with trailers requested after its last piece', async () => {
    let isLastMade = false;
    async function* source(): AsyncGenerator<Uint8Array> {
      yield utf8Bytes('one ');
      yield new Uint8Array(0);
      yield utf8Bytes('two');
      isLastMade = true;
    }
    const { call } = await bench.serve(() => ({
      ...ok,
      body: source(),
      trailers: () => [['x-last', String(isLastMade)]],
    }));
    const reply = await call({ target: '/', headers: [['te', 'trailers']] });
    expect(utf8Text(reply.body)).toBe('one two');
    expect(reply.trailers.get('x-last')).toBe('true');
  });

  test('trailers follow a complete body, too', async () => {
    const { call } = await bench.serve(() => ({ ...ok, body: utf8Bytes('x'), trailers: () => [['x-end', 'yes']] }));
    const reply = await call({ target: '/', headers: [['te', 'trailers']] });
    expect(utf8Text(reply.body)).toBe('x');
    expect(reply.trailers.get('x-end')).toBe('yes');
  });

  test('HEAD gets the fields and the length but no body, and the body is released', async () => {
    const released = latch();
    const { call } = await bench.serve(() => ({ ...ok, body: utf8Bytes('12345'), release: released.open }));
    const reply = await call({ method: 'HEAD', target: '/' });
    expect(reply.headers.get('content-length')).toBe('5');
    expect(reply.body.byteLength).toBe(0);
    await released.promise;
  });

  test('204 carries neither body nor length', async () => {
    const { call } = await bench.serve(() => ({ status: 204, headers: [] }));
    const reply = await call({ target: '/' });
    expect(reply.headers.has('content-length')).toBe(false);
    expect(reply.body.byteLength).toBe(0);
  });

  test('a body is produced no faster than the client reads it', async () => {
    let made = 0;
    async function* source(): AsyncGenerator<Uint8Array> {
      for (; made < 2_000; made++) yield new Uint8Array(65_536);
    }
    const { callSlowly } = await bench.serve(() => ({ ...ok, body: source() }));
    const reply = await callSlowly({ target: '/' });
    let before = -1;
    while (before !== made) {
      before = made;
      for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
    }
    expect(made).toBeLessThan(1_000);
    expect((await reply.readAll()).byteLength).toBe(2_000 * 65_536);
  });
}
