/** Durable streams as operators and client authors see them: the command, metrics, and the frames of the documentation. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
const example = join(repositoryRoot, 'docs/examples/resume-stream.mjs');
const models = new ModelRepository()
  .write('mean/1/model.onnx', readFileSync(join(repositoryRoot, 'tests/models/accumulator/1/model.onnx')))
  .write(
    'mean/config.pbtxt',
    'parameters { key: "millrace.stream_states" value { string_value: "state=next_state" } }',
  );
for (const file of ['config.pbtxt', 'labels.txt', '1/model.onnx']) {
  models.write(`listener_tensors/${file}`, readFileSync(join(repositoryRoot, 'models/listener_tensors', file)));
}
const folder = mkdtempSync(join(tmpdir(), 'millrace-stream-operations-'));
const run = promisify(execFile);
let server: ServerProcess;

beforeAll(async () => {
  server = await ServerProcess.start([models.path], { environment: { TMPDIR: folder } });
}, 120_000);
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  models.remove();
  rmSync(folder, { recursive: true });
});

/** Runs `millrace streams …`. */
async function streams(...args: readonly string[]): Promise<string> {
  return (await run(process.execPath, [millrace, 'streams', ...args, '--url', server.url])).stdout;
}

interface Connection {
  readonly session: ClientHttp2Session;
  readonly frames: Readonly<Record<string, Record<string, unknown>>>[];
  send(frame: object): void;
}

/** A connection with JSON frames, as Connect sends them. */
function connected(): Connection {
  const session = connect(server.url);
  session.on('error', () => {});
  const call = session.request({
    ':method': 'POST',
    ':path': '/millrace.v1.InferenceService/Stream',
    'content-type': 'application/connect+json',
    'connect-protocol-version': '1',
  });
  const frames: Connection['frames'] = [];
  let bytes = Buffer.alloc(0);
  call.on('error', () => {});
  call.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
      const end = 5 + bytes.readUInt32BE(1);
      frames.push(JSON.parse(bytes.subarray(5, end).toString()) as (typeof frames)[0]);
      bytes = bytes.subarray(end);
    }
  });
  return {
    session,
    frames,
    send: (frame) => {
      const body = Buffer.from(JSON.stringify(frame));
      const head = Buffer.alloc(5);
      head.writeUInt32BE(body.length, 1);
      call.write(Buffer.concat([head, body]));
    },
  };
}

const frameOf = ({ frames }: Connection, kind: string) => frames.find((frame) => kind in frame)?.[kind];
const input = (sequence: number, value: number) => ({
  input: { sequence, tensors: [{ name: 'value', datatype: 'FP32', shape: [1, 1], data: [value] }] },
});

async function metric(name: string): Promise<string | undefined> {
  const text = await (await fetch(server.metricsUrl)).text();
  return text
    .split('\n')
    .find((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1);
}

test('the frames of docs/reference/stream-clients.md are those of a real resume', { timeout: 120_000 }, async () => {
  const id = '3b241101-e2bb-4255-8caf-4136c566a962';
  const { stdout } = await run(process.execPath, [example, server.url, 'mean', 'value', '1', id]);
  const page = readFileSync(join(repositoryRoot, 'docs/reference/stream-clients.md'), 'utf8');
  const recorded = /<!-- recorded -->\n\n```text\n(.*?)```/s.exec(page)?.[1];
  // How much of the credit is left depends on how far the server has come.
  const withoutCredit = (text = '') => text.replaceAll(/"inputCredit":\{[^}]*\}/g, '');
  expect(withoutCredit(stdout)).toBe(withoutCredit(recorded));
});

test('the example of README.md resumes and ends', { timeout: 120_000 }, async () => {
  const readme = readFileSync(join(repositoryRoot, 'README.md'), 'utf8');
  const [, script = '', rest = ''] = /^node (docs\/examples\/\S+) http:\/\/127\.0\.0\.1:8000 (.*)$/m.exec(readme) ?? [];
  const { stdout } = await run(process.execPath, [script, server.url, ...rest.split(' ')], { cwd: repositoryRoot });
  expect(stdout.match(/^> \{"open"/gm)).toHaveLength(2);
  expect(stdout.match(/^< \{"output":\{"sequence":\d/gm)).toEqual([1, 2, 3].map((n) => `< {"output":{"sequence":${n}`));
  expect(stdout.trimEnd().split('\n').at(-1)).toBe('< {"ended":{"outcome":"done","outputs":3}}');
});

test('streams are listed, shown, survive a router that is killed, and are cancelled', {
  timeout: 240_000,
}, async () => {
  const id = 'operations-7a6f3c20b9d1';
  const first = connected();
  first.send({ open: { streamId: id, context: 'mean' } });
  first.send(input(1, 4));
  await eventually('an output has come', () => frameOf(first, 'output') !== undefined, 60_000);
  expect(await streams('list', '--open')).toMatch(new RegExp(`^ID .*\\n${id} +mean:1 +attached +\\S+ \\S+ +1 +1 +`));
  expect(await streams('list', '--model', 'other')).toBe('There is no stream.\n');
  expect(await metric('millrace_streams{state="attached"}')).toBe('1');
  first.session.destroy();
  await eventually('the stream is detached', async () => /detached/.test(await streams('list', '--open')), 60_000);

  const { epoch } = JSON.parse(await streams('show', id, '--json')) as { epoch: number };
  const killed = server.routerPid;
  process.kill(killed, 'SIGKILL');
  await eventually('another router has the stream', () => server.routerPid !== killed, 60_000);
  await eventually(
    'the stream is taken over',
    async () => (await streams('show', id, '--json')).includes('"owned":true'),
    60_000,
  );
  expect(JSON.parse(await streams('show', id, '--json'))).toMatchObject({
    id,
    model: 'mean',
    version: '1',
    attached: false,
    acceptedInputs: 1,
    outputs: 1,
  });
  expect((JSON.parse(await streams('show', id, '--json')) as { epoch: number }).epoch).toBeGreaterThan(epoch);
  const second = connected();
  second.send({ open: { streamId: id, mode: 'resume', resumeAfter: 1 } });
  second.send(input(2, 8));
  await eventually('the next output has come', () => frameOf(second, 'output') !== undefined, 60_000);
  expect(frameOf(second, 'output')).toMatchObject({ sequence: 2, tensors: [{ name: 'mean', data: [6] }] });
  expect(await metric('millrace_stream_resumes_total{cause="router-restart"}')).toBe('1');
  expect(await metric('millrace_stream_resume_gap_seconds_count')).toBe('1');
  expect(Number(await metric('millrace_stream_journal_logs'))).toBeGreaterThanOrEqual(1);

  expect(await streams('cancel', id, '--reason', 'maintenance')).toContain(
    'reason   cancelled by an operator: maintenance',
  );
  await eventually('its client is told', () => frameOf(second, 'ended') !== undefined, 60_000);
  expect(frameOf(second, 'ended')).toMatchObject({ outcome: 'cancelled', code: 'cancelled' });
  expect(await metric('millrace_streams_ended_total{outcome="cancelled",code="cancelled"}')).toBe('1');
  expect(await streams('list', '--open')).toBe('There is no stream.\n');
  await expect(streams('show', 'no-such-stream')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no stream no-such-stream'),
  });
  second.session.close();
  await once(second.session, 'close');
});
