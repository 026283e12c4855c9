import { Cancellation } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { type ExchangeHarness, latch, ok, pieces, utf8Bytes } from './subject.ts';

/** When the memory of a response may be used again. */
export function releaseTests(bench: ExchangeHarness): void {
  test('comes once after one piece, several pieces, a streamed body and none at all', async () => {
    const counts = new Map<string, number>();
    const all = latch();
    const { call } = await bench.serve(({ path }) => ({
      ...ok,
      ...(path === '/one' ? { body: utf8Bytes('1') } : {}),
      ...(path === '/several' ? { body: [utf8Bytes('1'), utf8Bytes('2')] } : {}),
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

  test('comes once when the client disconnected before the answer', async () => {
    const hangUp = new Cancellation();
    const gone = latch();
    const released = latch();
    let count = 0;
    const { call } = await bench.serve(async ({ signal }) => {
      signal.onCancel(() => gone.open());
      hangUp.cancel('cancelled');
      await gone.promise;
      const release = () => {
        count++;
        released.open();
      };
      return { ...ok, body: utf8Bytes('nobody reads this'), release };
    });
    await expect(call({ target: '/', hangUp })).rejects.toThrow();
    await released.promise;
    await new Promise(setImmediate);
    expect(count).toBe(1);
  });

  test('comes once when the client disconnects in the middle of a body, and the source is told', async () => {
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
    const { callSlowly } = await bench.serve(() => ({
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

  test('comes once when the body fails half-way, and the client sees an incomplete answer', async () => {
    const released = latch();
    let count = 0;
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield utf8Bytes('good so far');
      throw new Error('secret detail');
    }
    const { call } = await bench.serve(() => ({
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
    expect(bench.errors).toMatchObject([{ message: 'secret detail' }]);
  });

  test('that throws is reported and breaks nothing else', async () => {
    const { call } = await bench.serve(({ path }) => ({
      ...ok,
      body: utf8Bytes('x'),
      release: () => {
        if (path === '/bad') throw new Error('release failed');
      },
    }));
    expect((await call({ target: '/bad' })).status).toBe(200);
    expect((await call({ target: '/good' })).status).toBe(200);
    expect(bench.errors).toMatchObject([{ message: 'release failed' }]);
  });
}
