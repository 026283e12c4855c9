import { Cancellation } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { BodyAborted, BodyTooLarge, type HttpRequest } from '../exchange.ts';
import { type ExchangeHarness, latch, ok, pieces, utf8Bytes, utf8Text } from './subject.ts';

/** What a handler sees of a request. */
export function requestTests(bench: ExchangeHarness): void {
  test('method, path, query, authority and fields arrive as they were sent', async () => {
    let seen: HttpRequest | undefined;
    const { call } = await bench.serve((request) => {
      seen = request;
      return ok;
    });
    await call({
      method: 'PUT',
      target: '/a%2Fb/%C3%A9?x=%20&y',
      headers: [
        ['host', 'models.example'],
        ['x-many', 'one'],
        ['x-many', 'two'],
      ],
    });
    expect(seen).toMatchObject({ method: 'PUT', path: '/a%2Fb/%C3%A9', query: 'x=%20&y' });
    expect(seen?.authority).toBe('models.example');
    expect(seen?.headers.getAll('x-many')).toEqual(['one', 'two']);
    expect(seen?.headers.has('x-none')).toBe(false);
    expect(seen?.peer.isEncrypted).toBe(false);
  });

  test('a body of declared length is read whole', async () => {
    const { call } = await bench.serve(async ({ body }) => {
      expect(body.lengthBytes).toBe(5);
      return { ...ok, body: await body.readAll(5) };
    });
    const reply = await call({ method: 'POST', target: '/', body: utf8Bytes('hello') });
    expect(utf8Text(reply.body)).toBe('hello');
  });

  test('a large body of declared length arrives intact', async () => {
    const large = new Uint8Array(3_000_000).map((_, index) => (index * 31) & 0xff);
    const { call } = await bench.serve(async ({ body }) => ({ ...ok, body: await body.readAll(large.byteLength) }));
    const reply = await call({ method: 'POST', target: '/', body: large });
    expect(Buffer.compare(reply.body, large)).toBe(0);
  });

  test('a body without declared length is read whole, with its trailers', async () => {
    let trailer: string | undefined;
    const { call } = await bench.serve(async (request) => {
      expect(request.body.lengthBytes).toBeUndefined();
      const body = await request.body.readAll(100);
      trailer = request.trailers.get('x-check');
      return { ...ok, body };
    });
    const reply = await call({
      method: 'POST',
      target: '/',
      body: pieces('one ', 'two ', 'three'),
      trailers: [['x-check', '17']],
    });
    expect(utf8Text(reply.body)).toBe('one two three');
    expect(trailer).toBe('17');
  });

  test('a request without a body reads as empty', async () => {
    const { call } = await bench.serve(async ({ body }) => {
      expect(body.lengthBytes).toBe(0);
      return { ...ok, body: await body.readAll(0) };
    });
    expect((await call({ target: '/' })).body.byteLength).toBe(0);
  });

  test('a body can be read piece by piece, and the rest left unread', async () => {
    const { call } = await bench.serve(async ({ body, path }) => {
      const taken: Uint8Array[] = [];
      for await (const piece of body) {
        taken.push(piece);
        if (path === '/first') break;
      }
      return { ...ok, body: taken };
    });
    const all = await call({ method: 'POST', target: '/all', body: pieces('ab', 'cd', 'ef') });
    expect(utf8Text(all.body)).toBe('abcdef');
    const first = await call({ method: 'POST', target: '/first', body: pieces('ab', 'cd') });
    expect(utf8Text(first.body).startsWith('ab')).toBe(true);
    expect(utf8Text((await call({ method: 'POST', target: '/all', body: utf8Bytes('again') })).body)).toBe('again');
  });

  test('a body that nobody reads does not disturb the next request', async () => {
    const { call } = await bench.serve(({ path }) => ({ ...ok, body: utf8Bytes(path) }));
    await call({ method: 'POST', target: '/1', body: new Uint8Array(500_000) });
    await call({ method: 'POST', target: '/2', body: pieces('x', 'y') });
    expect(utf8Text((await call({ target: '/3' })).body)).toBe('/3');
  });

  test('more than the limit is BodyTooLarge, with a declared length or without', async () => {
    const refusals: unknown[] = [];
    const { call } = await bench.serve(async ({ body }) => {
      await body.readAll(4).catch((error: unknown) => refusals.push(error));
      return { status: 413, headers: [] };
    });
    expect((await call({ method: 'POST', target: '/', body: utf8Bytes('12345') })).status).toBe(413);
    expect((await call({ method: 'POST', target: '/', body: pieces('123', '45') })).status).toBe(413);
    expect((await call({ method: 'POST', target: '/', body: utf8Bytes('1234') })).status).toBe(413);
    expect(refusals).toHaveLength(2);
    for (const refusal of refusals) expect(refusal).toBeInstanceOf(BodyTooLarge);
    expect(refusals[0]).toMatchObject({ bytesMax: 4 });
  });

  test('a client that disconnects in the middle of its body is a BodyAborted', async () => {
    const hangUp = new Cancellation();
    const refusal = latch<unknown>();
    const begun = latch();
    const { call } = await bench.serve(async ({ body }) => {
      begun.open();
      await body.readAll(100).catch(refusal.open);
      return ok;
    });
    async function* half(): AsyncGenerator<Uint8Array> {
      yield utf8Bytes('half');
      await begun.promise;
      hangUp.cancel('cancelled');
      await new Promise(() => {});
    }
    await expect(call({ method: 'POST', target: '/', body: half(), hangUp })).rejects.toThrow();
    expect(await refusal.promise).toBeInstanceOf(BodyAborted);
  });

  test('a client that disconnects in the middle of a body read in pieces is a BodyAborted', async () => {
    const hangUp = new Cancellation();
    const refusal = latch<unknown>();
    const { call } = await bench.serve(async ({ body }) => {
      try {
        for await (const _ of body) hangUp.cancel('cancelled');
      } catch (error) {
        refusal.open(error);
      }
      return ok;
    });
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield utf8Bytes('half');
      await new Promise(() => {});
    }
    await expect(call({ method: 'POST', target: '/', body: endless(), hangUp })).rejects.toThrow();
    expect(await refusal.promise).toBeInstanceOf(BodyAborted);
  });

  test('a body is read once', async () => {
    const { call } = await bench.serve(async ({ body }) => {
      await body.readAll(10);
      expect(() => body[Symbol.asyncIterator]()).toThrow(/read once/);
      return ok;
    });
    expect((await call({ method: 'POST', target: '/', body: utf8Bytes('x') })).status).toBe(200);
    expect(bench.errors).toEqual([]);
  });

  test('a handler that does not read applies back-pressure to the client', async () => {
    let made = 0;
    const read = latch();
    async function* source(): AsyncGenerator<Uint8Array> {
      for (; made < 2_000; made++) yield new Uint8Array(65_536);
    }
    const seen = latch<number>();
    const { call } = await bench.serve(async ({ body }) => {
      await read.promise;
      seen.open(made);
      let total = 0;
      for await (const piece of body) total += piece.byteLength;
      return { ...ok, body: utf8Bytes(String(total)) };
    });
    const reply = call({ method: 'POST', target: '/', body: source() });
    // The client stalls when the buffers in between are full; give it many turns to exceed them if it can.
    let before = -1;
    while (before !== made) {
      before = made;
      for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
    }
    read.open();
    expect(await seen.promise).toBeLessThan(1_000);
    expect(utf8Text((await reply).body)).toBe(String(2_000 * 65_536));
  });
}
