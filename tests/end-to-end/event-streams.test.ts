/** Durable streams by server-sent events from a real server: cut, resumed, cancelled, and with a router that dies. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventReader, type ReceivedEvent } from '../support/event-source.ts';
import { eventually } from '../support/eventually.ts';
import { runningTotal, valueInput, writeRunningTotal } from '../support/running-total.ts';
import { ServerProcess } from '../support/server-process.ts';

const models = writeRunningTotal(new ModelRepository());
let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start([models.path, '--cors-origins', 'https://app.example']);
}, 60_000);
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
});

const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}/v1/streams${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

async function open(body: object = {}): Promise<string> {
  const answer = await post('', { context: runningTotal, ...body });
  const { streamId } = (await answer.json()) as { streamId: string };
  expect([answer.status, answer.headers.get('location')]).toEqual([201, `/v1/streams/${streamId}`]);
  return streamId;
}

async function listen(id: string, lastEventId?: string): Promise<EventReader> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const answer = await fetch(`${server.url}/v1/streams/${id}`, { headers });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  return new EventReader(answer);
}

async function send(id: string, sequence: number, isLast = false): Promise<void> {
  const answer = await post(`/${id}/inputs`, { sequence, ...valueInput(sequence), end_of_input: isLast });
  expect([answer.status, await answer.json()]).toMatchObject([200, { input: sequence }]);
}

/** Sequence and value of every output. */
function totalsOf(events: readonly ReceivedEvent[]): readonly (readonly [string, unknown])[] {
  return events
    .filter(({ name }) => name === 'output')
    .map(({ id, data }) => [id as string, (data.tensors as [{ data: readonly number[] }])[0].data[0]]);
}

const totals = [
  ['1', 1],
  ['2', 3],
  ['3', 6],
  ['4', 10],
];

describe('a stream by server-sent events', () => {
  test('has its events on the response that opened it', async () => {
    const body = { context: runningTotal, input: valueInput(1), end_of_input: true };
    const answer = await post('', body, { accept: 'text/event-stream' });
    const { status, headers } = answer;
    expect([status, headers.get('cache-control'), headers.get('x-accel-buffering')]).toEqual([200, 'no-store', 'no']);
    const reader = new EventReader(answer);
    await reader.rest();
    expect(reader.events.map(({ name, id }) => [name, id]).filter(([name]) => name !== 'accepted')).toEqual([
      ['opened', '0'],
      ['output', '1'],
      ['ended', 'end'],
    ]);
    expect(reader.events.at(-1)?.data).toEqual({ outcome: 'done', outputs: 1 });
  });

  test('is resumed after a cut by Last-Event-ID, and stopped with 204 after its end', async () => {
    const id = await open({ input: valueInput(1) });
    const first = await listen(id);
    await send(id, 2);
    await first.outputs(2);
    await first.cut();
    await send(id, 3);
    const second = await listen(id, '2');
    await send(id, 4, true);
    await second.rest();
    expect([...totalsOf(first.events), ...totalsOf(second.events)]).toEqual(totals);
    expect(second.events.map(({ name }) => name)).toContain('ended');
    // Who missed only the end gets it again, and whoever asks for everything everything.
    const third = await listen(id, '4');
    await third.rest();
    expect(third.events.map(({ name }) => name)).toEqual(['opened', 'ended']);
    const fourth = await listen(id);
    await fourth.rest();
    expect(totalsOf(fourth.events)).toEqual(totals);
    const last = await fetch(`${server.url}/v1/streams/${id}`, { headers: { 'last-event-id': 'end' } });
    expect(last.status).toBe(204);
  });

  test('forgets outputs that are acknowledged', async () => {
    const id = await open({ input: valueInput(1) });
    const reader = await listen(id);
    await send(id, 2);
    await reader.outputs(2);
    expect((await post(`/${id}/acknowledge`, { output: 1 })).status).toBe(204);
    await reader.cut();
    const answer = await fetch(`${server.url}/v1/streams/${id}`);
    expect([answer.status, answer.headers.get('millrace-error-code')]).toEqual([410, 'output-expired']);
    const second = await listen(id, '1');
    await send(id, 3, true);
    await second.rest();
    expect(totalsOf(second.events)).toEqual(totals.slice(1, 3));
  });

  test('is cancelled by DELETE, and its events end', async () => {
    const id = await open({ input: valueInput(1) });
    const reader = await listen(id);
    await reader.outputs(1);
    expect((await fetch(`${server.url}/v1/streams/${id}`, { method: 'DELETE' })).status).toBe(204);
    await reader.rest();
    expect(reader.events.at(-1)).toMatchObject({ name: 'ended', data: { outcome: 'cancelled' } });
  });

  test('goes to the client that resumes it last; the other is told and stopped', async () => {
    const id = await open();
    const first = await listen(id);
    const second = await listen(id);
    await first.rest();
    expect(first.events.at(-1)).toMatchObject({ name: 'error', id: 'end', data: { code: 'stream-superseded' } });
    await send(id, 1, true);
    await second.rest();
    expect(totalsOf(second.events)).toEqual(totals.slice(0, 1));
  });

  test('is not found where there is none, and not opened for an unknown model', async () => {
    const unknown = await fetch(`${server.url}/v1/streams/nobody`);
    expect([unknown.status, unknown.headers.get('millrace-error-code')]).toEqual([404, 'stream-not-found']);
    const refused = await post('', { context: 'nobody', input: valueInput(1) }, { accept: 'text/event-stream' });
    expect([refused.status, refused.headers.get('millrace-error-code')]).toEqual([404, 'unknown-model']);
  });

  test('is served over HTTP/2', async () => {
    const id = await open({ input: valueInput(1), end_of_input: true });
    const session = connectHttp2(server.url);
    const stream = session.request({ ':path': `/v1/streams/${id}` });
    let text = '';
    stream.setEncoding('utf8').on('data', (data: string) => {
      text += data;
    });
    await once(stream, 'end');
    session.close();
    expect(text.match(/^event: .*$/gm)).toEqual(['event: opened', 'event: output', 'event: ended']);
  });

  test('is open to pages of listed origins, and to no other page', async () => {
    const call = (origin: string) => fetch(`${server.url}/v1/streams/nobody`, { headers: { origin } });
    const listed = await call('https://app.example');
    expect([listed.status, listed.headers.get('access-control-allow-origin')]).toEqual([404, 'https://app.example']);
    expect((await call('https://other.example')).status).toBe(403);
  });
});

test.runIf(process.platform === 'linux')(
  'a stream survives the death of the router, with the same outputs',
  {
    timeout: 120_000,
  },
  async () => {
    const id = await open({ input: valueInput(1) });
    const first = await listen(id);
    await send(id, 2);
    await first.outputs(2);
    const before = server.routerPid;
    process.kill(before, 'SIGKILL');
    await expect(first.rest()).rejects.toThrow();
    await eventually('another router listens', () => server.routerPid !== before, 60_000);
    // The supervisor keeps the listening sockets: nobody has to know that there is another process.
    const second = await listen(id, '2');
    expect(second.events).toEqual([]);
    await send(id, 3);
    await send(id, 4, true);
    await second.rest();
    expect([...totalsOf(first.events), ...totalsOf(second.events)]).toEqual(totals);
    const [opened, reopened] = [first, second].map(({ events }) => events.find(({ name }) => name === 'opened')?.data);
    expect(reopened).toMatchObject({ acceptedInput: 2, nextOutput: 3 });
    expect(reopened?.epoch).toBeGreaterThan(opened?.epoch as number);
  },
);
