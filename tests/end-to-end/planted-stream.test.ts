/** A stream in the journal that kills every router that restores it: the others go on, and it is ended. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLmdbJournal, type StreamLog } from '@millrace/store';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, expect, test } from 'vitest';
import { EventReader, type ReceivedEvent } from '../support/event-source.ts';
import { eventually } from '../support/eventually.ts';
import { runningTotal, valueInput, writeRunningTotal } from '../support/running-total.ts';
import { type LogRecord, ServerProcess } from '../support/server-process.ts';

const models = writeRunningTotal(new ModelRepository());
const store = mkdtempSync(join(tmpdir(), 'millrace-planted-'));
afterAll(() => {
  models.remove();
  rmSync(store, { recursive: true, force: true });
});

const planted = 'planted-stream-0123456789';
const honest = 'honest-stream-0123456789';
const serve = [models.path, '--store-path', store, '--stream-resume-seconds', '600'];

/** The opening of a stream as the journal holds it, which becomes far more bytes when it is read. */
function largeOpening(): Uint8Array {
  const lists = `[]${',[]'.repeat(8_000_000)}`;
  const opening = { model: runningTotal, version: '1', principal: '', parameters: { lists: [] } };
  const json = JSON.stringify(opening).replace('[]', `[${lists}]`);
  const head = Buffer.alloc(18);
  head[0] = 1;
  head.writeDoubleLE(1, 2);
  head.writeDoubleLE(Date.now() + 3_600_000, 10);
  return Buffer.concat([head, Buffer.from(json)]);
}

async function plant(): Promise<void> {
  const journal = await openLmdbJournal({ path: join(store, 'journal'), durability: 'process' });
  const log = (await journal.takeOver(planted, 'attacker', {
    create: true,
    tag: `${runningTotal}:1`,
    account: '127.0.0.9',
  })) as StreamLog;
  await log.append([largeOpening()]);
  await journal.close();
}

async function eventsOf(server: ServerProcess, id: string, lastEventId = ''): Promise<readonly ReceivedEvent[]> {
  const headers = lastEventId === '' ? {} : { 'last-event-id': lastEventId };
  const reader = new EventReader(await fetch(`${server.url}/v1/streams/${id}`, { headers }));
  await reader.rest();
  return reader.events;
}

test('a stream that kills the routers that restore it is ended after three, and others go on', async () => {
  const first = await ServerProcess.start(serve);
  const body = { context: runningTotal, stream_id: honest, input: { sequence: 1, ...valueInput(5) } };
  const opened = await fetch(`${first.url}/v1/streams`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(opened.status).toBe(201);
  expect(await first.stop()).toBe(0);
  await plant();
  const server = await ServerProcess.launch(serve, { environment: { NODE_OPTIONS: '--max-old-space-size=160' } });
  try {
    const told = (): LogRecord | undefined => server.records.find((record) => record.stream === planted);
    await eventually('the stream is ended', async () => told() !== undefined, 150_000);
    expect(JSON.stringify(told())).toContain('poison-stream');
    await server.whenReady();
    expect((await eventsOf(server, planted, '3')).at(-1)).toMatchObject({
      name: 'ended',
      data: { outcome: 'failed', code: 'poison-stream' },
    });
    const last = await fetch(`${server.url}/v1/streams/${honest}/inputs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sequence: 2, ...valueInput(6), end_of_input: true }),
    });
    expect(last.status).toBe(200);
    const outputs = await eventsOf(server, honest);
    const totals = outputs.filter(({ name }) => name === 'output').map(({ data }) => data.tensors);
    expect(totals).toMatchObject([[{ data: [5] }], [{ data: [11] }]]);
    expect(outputs.at(-1)).toMatchObject({ name: 'ended', data: { outcome: 'done' } });
  } finally {
    await server.stop();
  }
}, 240_000);
