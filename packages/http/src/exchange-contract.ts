/**
 * The behaviour every transport owes its handlers. A transport is given as something that opens a server for a handler
 * and lets a client call it; the suite knows nothing of sockets, so an injected call passes it as it stands.
 */
import { Cancellation, type CancelReason, type CancelSignal } from '@millrace/protocol';
import { afterEach, describe, expect, test } from 'vitest';
import { BodyAborted, BodyTooLarge, type HttpHandler, type HttpRequest, type HttpResponse } from './exchange.ts';

export interface ContractCall {
  readonly method?: string;
  readonly target: string;
  readonly headers?: readonly (readonly [string, string])[];
  /** One piece: its length is declared. A source of pieces: it is not. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly trailers?: readonly (readonly [string, string])[];
  /** The client goes away when this fires. */
  readonly hangUp?: CancelSignal;
}

export interface ContractReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
  readonly trailers: ReadonlyMap<string, string>;
}

export interface ContractServer {
  /** Rejects when the answer did not come, or broke off. */
  call(call: ContractCall): Promise<ContractReply>;
  /** Sees the head and pulls the body when told to. */
  callSlowly(call: ContractCall): Promise<SlowReply>;
  close(): Promise<void>;
}

export interface SlowReply {
  readonly status: number;
  readAll(): Promise<Uint8Array>;
  hangUp(): void;
}

export type OpenContractServer = (handler: HttpHandler, onError: (error: unknown) => void) => Promise<ContractServer>;

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (data: Uint8Array): string => new TextDecoder().decode(data);
const ok: HttpResponse = { status: 200, headers: [] };

/** Something that happens once and can be waited for. */
function latch<T = void>(): { promise: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

async function* pieces(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield bytes(part);
}

export function describeExchange(name: string, open: OpenContractServer): void {
  describe(`${name} keeps the exchange contract`, () => {
    const errors: unknown[] = [];
    let server: ContractServer | undefined;
    const serve = async (handler: HttpHandler): Promise<ContractServer> => {
      server = await open(handler, (error) => errors.push(error));
      return server;
    };
    afterEach(async () => {
      await server?.close();
      server = undefined;
      errors.length = 0;
    });

    describe('requests', () => {
      test('method, path, query, authority and fields arrive as they were sent', async () => {
        let seen: HttpRequest | undefined;
        const { call } = await serve((request) => {
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
        const { call } = await serve(async ({ body }) => {
          expect(body.lengthBytes).toBe(5);
          return { ...ok, body: await body.readAll(5) };
        });
        const reply = await call({ method: 'POST', target: '/', body: bytes('hello') });
        expect(text(reply.body)).toBe('hello');
      });

      test('a large body of declared length arrives intact', async () => {
        const large = new Uint8Array(3_000_000).map((_, index) => (index * 31) & 0xff);
        const { call } = await serve(async ({ body }) => ({ ...ok, body: await body.readAll(large.byteLength) }));
        const reply = await call({ method: 'POST', target: '/', body: large });
        expect(Buffer.compare(reply.body, large)).toBe(0);
      });

      test('a body without declared length is read whole, with its trailers', async () => {
        let trailer: string | undefined;
        const { call } = await serve(async (request) => {
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
        expect(text(reply.body)).toBe('one two three');
        expect(trailer).toBe('17');
      });

      test('a request without a body reads as empty', async () => {
        const { call } = await serve(async ({ body }) => {
          expect(body.lengthBytes).toBe(0);
          return { ...ok, body: await body.readAll(0) };
        });
        expect((await call({ target: '/' })).body.byteLength).toBe(0);
      });

      test('a body can be taken piece by piece, and the rest left alone', async () => {
        const { call } = await serve(async ({ body, path }) => {
          const taken: Uint8Array[] = [];
          for await (const piece of body) {
            taken.push(piece);
            if (path === '/first') break;
          }
          return { ...ok, body: taken };
        });
        const all = await call({ method: 'POST', target: '/all', body: pieces('ab', 'cd', 'ef') });
        expect(text(all.body)).toBe('abcdef');
        const first = await call({ method: 'POST', target: '/first', body: pieces('ab', 'cd') });
        expect(text(first.body).startsWith('ab')).toBe(true);
        expect(text((await call({ method: 'POST', target: '/all', body: bytes('again') })).body)).toBe('again');
      });

      test('a body that nobody reads does not disturb the next request', async () => {
        const { call } = await serve(({ path }) => ({ ...ok, body: bytes(path) }));
        await call({ method: 'POST', target: '/1', body: new Uint8Array(500_000) });
        await call({ method: 'POST', target: '/2', body: pieces('x', 'y') });
        expect(text((await call({ target: '/3' })).body)).toBe('/3');
      });

      test('more than the limit is BodyTooLarge, with a declared length or without', async () => {
        const refusals: unknown[] = [];
        const { call } = await serve(async ({ body }) => {
          await body.readAll(4).catch((error: unknown) => refusals.push(error));
          return { status: 413, headers: [] };
        });
        expect((await call({ method: 'POST', target: '/', body: bytes('12345') })).status).toBe(413);
        expect((await call({ method: 'POST', target: '/', body: pieces('123', '45') })).status).toBe(413);
        expect((await call({ method: 'POST', target: '/', body: bytes('1234') })).status).toBe(413);
        expect(refusals).toHaveLength(2);
        for (const refusal of refusals) expect(refusal).toBeInstanceOf(BodyTooLarge);
        expect(refusals[0]).toMatchObject({ bytesMax: 4 });
      });

      test('a client that leaves in the middle of its body is a BodyAborted', async () => {
        const hangUp = new Cancellation();
        const refusal = latch<unknown>();
        const begun = latch();
        const { call } = await serve(async ({ body }) => {
          begun.open();
          await body.readAll(100).catch(refusal.open);
          return ok;
        });
        async function* half(): AsyncGenerator<Uint8Array> {
          yield bytes('half');
          await begun.promise;
          hangUp.cancel('cancelled');
          await new Promise(() => {});
        }
        await expect(call({ method: 'POST', target: '/', body: half(), hangUp })).rejects.toThrow();
        expect(await refusal.promise).toBeInstanceOf(BodyAborted);
      });

      test('a client that leaves in the middle of a body taken by pieces is a BodyAborted', async () => {
        const hangUp = new Cancellation();
        const refusal = latch<unknown>();
        const { call } = await serve(async ({ body }) => {
          try {
            for await (const _ of body) hangUp.cancel('cancelled');
          } catch (error) {
            refusal.open(error);
          }
          return ok;
        });
        async function* endless(): AsyncGenerator<Uint8Array> {
          yield bytes('half');
          await new Promise(() => {});
        }
        await expect(call({ method: 'POST', target: '/', body: endless(), hangUp })).rejects.toThrow();
        expect(await refusal.promise).toBeInstanceOf(BodyAborted);
      });

      test('a body is read once', async () => {
        const { call } = await serve(async ({ body }) => {
          await body.readAll(10);
          expect(() => body[Symbol.asyncIterator]()).toThrow(/read once/);
          return ok;
        });
        expect((await call({ method: 'POST', target: '/', body: bytes('x') })).status).toBe(200);
        expect(errors).toEqual([]);
      });

      test('a handler that does not read holds the client back', async () => {
        let made = 0;
        const read = latch();
        async function* source(): AsyncGenerator<Uint8Array> {
          for (; made < 2_000; made++) yield new Uint8Array(65_536);
        }
        const seen = latch<number>();
        const { call } = await serve(async ({ body }) => {
          await read.promise;
          seen.open(made);
          let total = 0;
          for await (const piece of body) total += piece.byteLength;
          return { ...ok, body: bytes(String(total)) };
        });
        const reply = call({ method: 'POST', target: '/', body: source() });
        // The client stalls when buffers on the way are full; give it many turns to overrun them if it can.
        let before = -1;
        while (before !== made) {
          before = made;
          for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
        }
        read.open();
        expect(await seen.promise).toBeLessThan(1_000);
        expect(text((await reply).body)).toBe(String(2_000 * 65_536));
      });
    });

    describe('responses', () => {
      test('status, fields and one piece reach the client, with the length', async () => {
        const { call } = await serve(() => ({
          status: 418,
          headers: [
            ['x-pot', 'tea'],
            ['content-length', '999'],
          ],
          body: bytes('short'),
        }));
        const reply = await call({ target: '/' });
        expect(reply.status).toBe(418);
        expect(reply.headers.get('x-pot')).toBe('tea');
        expect(reply.headers.get('content-length')).toBe('5');
        expect(text(reply.body)).toBe('short');
      });

      test('several pieces, also empty ones, arrive in order as one body', async () => {
        const { call } = await serve(() => ({
          ...ok,
          body: [bytes('a'), new Uint8Array(0), bytes('bc'), bytes('d'.repeat(200_000))],
        }));
        const reply = await call({ target: '/' });
        expect(reply.headers.get('content-length')).toBe('200003');
        expect(text(reply.body)).toBe(`abc${'d'.repeat(200_000)}`);
      });

      test('a body made on the way arrives whole, with trailers asked for after its last piece', async () => {
        let isLastMade = false;
        async function* source(): AsyncGenerator<Uint8Array> {
          yield bytes('one ');
          yield new Uint8Array(0);
          yield bytes('two');
          isLastMade = true;
        }
        const { call } = await serve(() => ({
          ...ok,
          body: source(),
          trailers: () => [['x-last', String(isLastMade)]],
        }));
        const reply = await call({ target: '/', headers: [['te', 'trailers']] });
        expect(text(reply.body)).toBe('one two');
        expect(reply.trailers.get('x-last')).toBe('true');
      });

      test('trailers follow a body that was all there, too', async () => {
        const { call } = await serve(() => ({ ...ok, body: bytes('x'), trailers: () => [['x-end', 'yes']] }));
        const reply = await call({ target: '/', headers: [['te', 'trailers']] });
        expect(text(reply.body)).toBe('x');
        expect(reply.trailers.get('x-end')).toBe('yes');
      });

      test('HEAD gets the fields and the length but no body, and the body is released', async () => {
        const released = latch();
        const { call } = await serve(() => ({ ...ok, body: bytes('12345'), release: released.open }));
        const reply = await call({ method: 'HEAD', target: '/' });
        expect(reply.headers.get('content-length')).toBe('5');
        expect(reply.body.byteLength).toBe(0);
        await released.promise;
      });

      test('204 carries neither body nor length', async () => {
        const { call } = await serve(() => ({ status: 204, headers: [] }));
        const reply = await call({ target: '/' });
        expect(reply.headers.has('content-length')).toBe(false);
        expect(reply.body.byteLength).toBe(0);
      });

      test('a body is made no faster than the client takes it', async () => {
        let made = 0;
        async function* source(): AsyncGenerator<Uint8Array> {
          for (; made < 2_000; made++) yield new Uint8Array(65_536);
        }
        const { callSlowly } = await serve(() => ({ ...ok, body: source() }));
        const reply = await callSlowly({ target: '/' });
        let before = -1;
        while (before !== made) {
          before = made;
          for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
        }
        expect(made).toBeLessThan(1_000);
        expect((await reply.readAll()).byteLength).toBe(2_000 * 65_536);
      });
    });

    describe('release', () => {
      test('comes once after one piece, several pieces, a made body and none at all', async () => {
        const counts = new Map<string, number>();
        const all = latch();
        const { call } = await serve(({ path }) => ({
          ...ok,
          ...(path === '/one' ? { body: bytes('1') } : {}),
          ...(path === '/several' ? { body: [bytes('1'), bytes('2')] } : {}),
          ...(path === '/made' ? { body: pieces('1', '2') } : {}),
          release: () => {
            counts.set(path, (counts.get(path) ?? 0) + 1);
            if (counts.size === 4) all.open();
          },
        }));
        for (const target of ['/none', '/one', '/several', '/made']) await call({ target });
        await all.promise;
        await new Promise(setImmediate);
        expect([...counts.values()]).toEqual([1, 1, 1, 1]);
      });

      test('comes once when the client left before the answer was there', async () => {
        const hangUp = new Cancellation();
        const gone = latch();
        const released = latch();
        let count = 0;
        const { call } = await serve(async ({ signal }) => {
          signal.onCancel(() => gone.open());
          hangUp.cancel('cancelled');
          await gone.promise;
          const release = () => {
            count++;
            released.open();
          };
          return { ...ok, body: bytes('nobody reads this'), release };
        });
        await expect(call({ target: '/', hangUp })).rejects.toThrow();
        await released.promise;
        await new Promise(setImmediate);
        expect(count).toBe(1);
      });

      test('comes once when the client leaves in the middle of a body, and the source is told', async () => {
        const stopped = latch();
        const released = latch();
        let count = 0;
        async function* endless(): AsyncGenerator<Uint8Array> {
          try {
            for (;;) yield new Uint8Array(65_536);
          } finally {
            stopped.open();
          }
        }
        const { callSlowly } = await serve(() => ({
          ...ok,
          body: endless(),
          release: () => {
            count++;
            released.open();
          },
        }));
        (await callSlowly({ target: '/' })).hangUp();
        await stopped.promise;
        await released.promise;
        await new Promise(setImmediate);
        expect(count).toBe(1);
      });

      test('comes once when the body fails half-way, and the client sees a broken answer', async () => {
        const released = latch();
        let count = 0;
        async function* broken(): AsyncGenerator<Uint8Array> {
          yield bytes('good so far');
          throw new Error('secret detail');
        }
        const { call } = await serve(() => ({
          ...ok,
          body: broken(),
          release: () => {
            count++;
            released.open();
          },
        }));
        await expect(call({ target: '/' })).rejects.toThrow(/^(?!.*secret detail)/);
        await released.promise;
        await new Promise(setImmediate);
        expect(count).toBe(1);
        expect(errors).toMatchObject([{ message: 'secret detail' }]);
      });

      test('that throws is reported and harms nobody', async () => {
        const { call } = await serve(({ path }) => ({
          ...ok,
          body: bytes('x'),
          release: () => {
            if (path === '/bad') throw new Error('release failed');
          },
        }));
        expect((await call({ target: '/bad' })).status).toBe(200);
        expect((await call({ target: '/good' })).status).toBe(200);
        expect(errors).toMatchObject([{ message: 'release failed' }]);
      });
    });

    describe('endings', () => {
      test('a handler that throws or rejects is a plain 500 without details', async () => {
        const { call } = await serve(({ path }) => {
          if (path === '/throws') throw new Error('secret detail');
          return Promise.reject(new Error('secret detail'));
        });
        for (const target of ['/throws', '/rejects']) {
          const reply = await call({ target });
          expect(reply.status).toBe(500);
          expect(text(reply.body)).toBe('Internal Server Error\n');
          expect(JSON.stringify([...reply.headers])).not.toContain('secret');
        }
        expect(errors).toHaveLength(2);
      });

      test('the signal fires when the client leaves before the answer', async () => {
        const hangUp = new Cancellation();
        const reason = latch<CancelReason>();
        const { call } = await serve(({ signal }) => {
          signal.onCancel(reason.open);
          hangUp.cancel('cancelled');
          return new Promise<HttpResponse>(() => {});
        });
        await expect(call({ target: '/', hangUp })).rejects.toThrow();
        expect(await reason.promise).toBe('cancelled');
      });

      test('the signal stays silent when the answer was delivered', async () => {
        let fired = 0;
        const { call } = await serve(({ signal }) => {
          signal.onCancel(() => fired++);
          return { ...ok, body: bytes('x') };
        });
        await call({ target: '/' });
        await call({ target: '/' });
        await server?.close();
        expect(fired).toBe(0);
      });
    });
  });
}
