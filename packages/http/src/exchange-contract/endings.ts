import { Cancellation, type CancelReason } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { HttpResponse } from '../exchange.ts';
import { type ExchangeHarness, latch, ok, utf8Bytes, utf8Text } from './subject.ts';

/** How an exchange ends when the handler fails or the client disconnects. */
export function endingTests(bench: ExchangeHarness): void {
  test('a handler that throws or rejects is a plain 500 without details', async () => {
    const { call } = await bench.serve(({ path }) => {
      if (path === '/throws') throw new Error('secret detail');
      return Promise.reject(new Error('secret detail'));
    });
    for (const target of ['/throws', '/rejects']) {
      const reply = await call({ target });
      expect(reply.status).toBe(500);
      expect(utf8Text(reply.body)).toBe('Internal Server Error\n');
      expect(JSON.stringify([...reply.headers])).not.toContain('secret');
    }
    expect(bench.errors).toHaveLength(2);
  });

  test('the signal fires when the client disconnects before the answer', async () => {
    const hangUp = new Cancellation();
    const reason = latch<CancelReason>();
    const { call } = await bench.serve(({ signal }) => {
      signal.onCancel(reason.open);
      hangUp.cancel('cancelled');
      return new Promise<HttpResponse>(() => {});
    });
    await expect(call({ target: '/', hangUp })).rejects.toThrow();
    expect(await reason.promise).toBe('cancelled');
  });

  test('the signal does not fire when the answer was delivered', async () => {
    let fired = 0;
    const { call } = await bench.serve(({ signal }) => {
      signal.onCancel(() => fired++);
      return { ...ok, body: utf8Bytes('x') };
    });
    await call({ target: '/' });
    await call({ target: '/' });
    await bench.close();
    expect(fired).toBe(0);
  });
}
