import { describe, expect, test } from 'vitest';
import type { DataPlane, InferAnswer } from '../../data-plane/infer.ts';
import { BodyBudget } from './body-budget.ts';
import { echoEdge, input, jsonRequest } from './echo-double.ts';

test('leases grow until the budget is spent, and give everything back once', () => {
  const budget = new BodyBudget(10);
  const first = budget.lease();
  const second = budget.lease();
  first.grow(6);
  second.grow(4);
  expect(() => second.grow(1)).toThrow(/10 bytes/);
  first.end();
  first.end();
  expect(budget.bytes).toBe(4);
  second.grow(6);
  second.end();
  expect(budget.bytes).toBe(0);
});

describe('bodyBytesInFlightMax', () => {
  const request = jsonRequest({ inputs: [input('x', 'INT8', [1], { data: [1] })] });
  const body = String(request.body);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(body.slice(0, 20));
    yield Buffer.from(body.slice(20));
  }

  test('refuses a body that does not fit beside those in progress, and takes it when they are done', async () => {
    let answerFirst: (answer: InferAnswer) => void = () => {};
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const answer = { model: 'm', version: '1', id: '', outputs: [], release: () => {} };
    const dataPlane: DataPlane = {
      noteRefusal: () => {},
      infer: () => {
        begin();
        return new Promise((resolve) => {
          answerFirst = resolve;
        });
      },
    };
    const { call } = echoEdge({ dataPlane, limits: { bodyBytesInFlightMax: body.length + 10 } });
    const first = call(request);
    await begun;
    for (const next of [request, { ...request, body: pieces() }]) {
      const refused = await call(next);
      expect([refused.status, refused.headers.get('millrace-error-code')]).toEqual([503, 'server-full']);
      expect(refused.headers.get('retry-after')).toBe('1');
    }
    answerFirst(answer);
    expect((await first).status).toBe(200);
    const again = call({ ...request, body: pieces() });
    await new Promise(setImmediate);
    answerFirst(answer);
    expect((await again).status).toBe(200);
  });

  test('is given back by requests that fail', async () => {
    const { call } = echoEdge({ limits: { bodyBytesInFlightMax: 100 } });
    for (let times = 0; times < 10; times++) {
      expect((await call(jsonRequest('x'.repeat(60)))).status).toBe(400);
      expect((await call({ ...jsonRequest('x'.repeat(60)), headers: [['content-encoding', 'gzip']] })).status).toBe(
        400,
      );
    }
    expect((await call(request)).status).toBe(200);
  });
});
