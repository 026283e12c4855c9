import { createRpcHandler, type HttpServer, serveWire } from '@millrace/http';
import { afterEach, expect, test } from 'vitest';
import { streamed } from '../../grpc/testing/served-edge.ts';
import { createManagementPort } from '../own-port.ts';
import { ManagementDouble } from '../testing/management-double.ts';

class HeldIntervals {
  readonly running = new Map<() => void, number>();
  readonly every = (intervalMs: number, run: () => void): (() => void) => {
    this.running.set(run, intervalMs);
    return () => this.running.delete(run);
  };
  pass(): void {
    for (const run of this.running.keys()) run();
  }
}

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
});

async function serve(limits = {}) {
  const intervals = new HeldIntervals();
  const double = new ManagementDouble();
  const port = createManagementPort({
    management: double,
    server: { name: 'mill', version: '1' },
    every: intervals.every,
    limits,
  });
  server = await serveWire(createRpcHandler(port.services, { errorFrom: (error) => port.errorFrom(error) }));
  const url = `http://127.0.0.1:${server.port}`;
  return {
    intervals,
    double,
    port,
    url,
    watch: (message = {}) => streamed(url, 'millrace.v1.Management/WatchQueues', message),
  };
}

test('a watch reports the queues at once, and again at every interval', async () => {
  const { intervals, watch } = await serve();
  const told = watch({ intervalMs: 250 });
  expect((await told.next()).value).toMatchObject({ waitingRequests: 6, waitingBytes: String(2 ** 34) });
  expect([...intervals.running.values()]).toEqual([250]);
  for (let count = 0; count < 3; count += 1) {
    intervals.pass();
    expect((await told.next()).value).toMatchObject({ waitingRequests: 6 });
  }
  await told.return(undefined);
});

test('an unexpected error ends the watch, not the server', async () => {
  const { double, intervals, watch } = await serve();
  const told = watch();
  await told.next();
  double.queues = () => {
    throw new TypeError('a defect');
  };
  intervals.pass();
  expect((await told.next()).value).toMatchObject({ error: { code: 'internal' } });
  expect(intervals.running.size).toBe(0);
});

test('an interval that is not given is a second', async () => {
  const { intervals, watch } = await serve();
  await watch().next();
  expect([...intervals.running.values()]).toEqual([1000]);
});

test.each([
  [{ intervalMs: 99 }, 'the interval must be 100 to 60000 ms, not 99'],
  [{ intervalMs: 60_001 }, 'the interval must be 100 to 60000 ms, not 60001'],
])('%j is refused', async (request, message) => {
  const { intervals, watch } = await serve();
  expect((await watch(request).next()).value).toMatchObject({ error: { code: 'invalid_argument', message } });
  expect(intervals.running.size).toBe(0);
});

test('watchers beyond the maximum are refused', async () => {
  const { watch } = await serve({ watchersMax: 1 });
  await watch().next();
  const message = '1 callers already watch the queues, which is the limit; read them once instead';
  expect((await watch().next()).value).toMatchObject({ error: { code: 'unavailable', message } });
});

test('the end of the server ends every watch, and its interval', async () => {
  const { intervals, port, watch } = await serve();
  const told = watch();
  await told.next();
  port.end();
  expect((await told.next()).value).toMatchObject({ error: { code: 'unavailable' } });
  expect(intervals.running.size).toBe(0);
});

test('a label that is both set and removed is refused, and a revision beyond doubles matches none', async () => {
  const { url } = await serve();
  const change = async (message: object) => {
    const response = await fetch(`${url}/millrace.v1.Management/ChangeTraffic`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'mill', ...message }),
    });
    return (await response.json()) as object;
  };
  expect(await change({ labels: { a: '1' }, removedLabels: ['a'] })).toMatchObject({ code: 'invalid_argument' });
  const huge = { labels: { a: '1' }, expectedRevision: String(2n ** 64n - 1n) };
  expect(await change(huge)).toMatchObject({ code: 'aborted' });
});

test('reflection lists the service', async () => {
  const { url } = await serve();
  const path = 'grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  const answers: unknown[] = [];
  for await (const answer of streamed(url, path, { listServices: '' })) answers.push(answer);
  expect(JSON.stringify(answers)).toContain('millrace.v1.Management');
});
