import { afterEach, expect, test, vi } from 'vitest';
import { type ServedEdge, serveEdge, streamed } from './testing/served-edge.ts';

let open: ServedEdge | undefined;
afterEach(async () => {
  await open?.server.close();
});

async function serve(): Promise<ServedEdge> {
  open = await serveEdge();
  return open;
}

const health = (method: string): string => `grpc.health.v1.Health/${method}`;

test('health covers the server, its services and its models', async () => {
  const { call, health: state } = await serve();
  const check = (service: string) => call(health('Check'), { service });
  for (const service of ['', 'inference.GRPCInferenceService', 'm']) {
    expect(await check(service)).toEqual({ status: 'SERVING' });
  }
  expect(await check('nobody')).toMatchObject({ status: 404, code: 'not_found' });
  state.become({ isReady: false, isEnding: true });
  for (const service of ['', 'm']) expect(await check(service)).toEqual({ status: 'NOT_SERVING' });
  expect(await call(health('List'))).toEqual({
    statuses: Object.fromEntries(
      ['', 'inference.GRPCInferenceService', 'm', 'other'].map((name) => [name, { status: 'NOT_SERVING' }]),
    ),
  });
});

test('a watch reports the current status and every change, and ends with the server', async () => {
  const { url, health: state, edge } = await serve();
  const watch = streamed(url, health('Watch'), { service: '' });
  expect((await watch.next()).value).toEqual({ status: 'SERVING' });
  state.become({ isReady: true });
  state.become({ isReady: false });
  expect((await watch.next()).value).toEqual({ status: 'NOT_SERVING' });
  state.become({ isReady: true });
  expect((await watch.next()).value).toEqual({ status: 'SERVING' });
  edge.end();
  expect((await watch.next()).value).toMatchObject({ error: { code: 'unavailable' } });
  expect(state.listeners.size).toBe(0);
});

test('a watch of an unknown name waits for it, and a watch whose caller disconnects is removed', async () => {
  const { url, health: state } = await serve();
  const watch = streamed(url, health('Watch'), { service: 'nobody' });
  expect((await watch.next()).value).toEqual({ status: 'SERVICE_UNKNOWN' });
  expect(state.listeners.size).toBe(1);
  await watch.return(undefined);
  await vi.waitFor(() => expect(state.listeners.size).toBe(0));
});
