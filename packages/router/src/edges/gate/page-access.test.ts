import { type HttpHandler, inject } from '@millrace/http';
import { expect, test } from 'vitest';
import { withPageAccess } from './page-access.ts';

const origin = 'https://app.example';
const answered: HttpHandler = () => ({
  status: 404,
  headers: [
    ['millrace-error-code', 'unknown-model'],
    ['retry-after', '1'],
  ],
});
const handler = withPageAccess(answered, { origins: [origin] });

const targets = ['/v1/streams/abc', '/v2/models/mill', '/v2/models/mill/infer', '/v2/health/ready'];

test.each(targets)('a page of a listed origin may read %s, with the fields that its client needs', async (target) => {
  const call = (from: string) => inject(handler, { method: 'GET', target, headers: [['origin', from]] });
  const { headers } = await call(origin);
  expect(headers.get('access-control-allow-origin')).toBe(origin);
  const exposed = headers.get('access-control-expose-headers')?.split(',');
  expect(exposed).toEqual(expect.arrayContaining(['millrace-error-code', 'retry-after']));
  expect((await call('https://other.example')).headers.has('access-control-allow-origin')).toBe(false);
});

test.each(targets)('a preflight of %s tells the methods, and nothing to a page that is not listed', async (target) => {
  const ask = (from: string) =>
    inject(handler, {
      method: 'OPTIONS',
      target,
      headers: [
        ['origin', from],
        ['access-control-request-method', 'DELETE'],
        ['access-control-request-headers', 'content-type,last-event-id'],
      ],
    });
  const { status, headers } = await ask(origin);
  expect([status, headers.get('access-control-allow-methods')]).toEqual([204, 'GET, POST, DELETE']);
  expect(headers.get('access-control-allow-headers')).toBe('content-type,last-event-id');
  expect((await ask('https://other.example')).headers.has('access-control-allow-methods')).toBe(false);
});

test('a program, which sends no origin, gets the answer as it is', async () => {
  const { headers } = await inject(handler, { method: 'GET', target: '/v2' });
  expect(headers.has('vary')).toBe(false);
});
