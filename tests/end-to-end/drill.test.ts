/** `millrace drill` as a user runs it: a server of its own and a running one, every kind, and a verdict that can fail. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { ModelRepository } from '@millrace/worker/testing';
import { ChaosProxy } from 'millrace/internal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isAlive } from '../support/is-alive.ts';
import { type CommandEnd, MillraceCommand } from '../support/millrace-command.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const drillMsMax = 240_000;
const repository = new ModelRepository();
const store = new ModelRepository();
let server: ServerProcess;

beforeAll(async () => {
  const model = 'models/storyteller';
  cpSync(join(repositoryRoot, model), join(repository.path, 'storyteller'), { recursive: true });
  server = await ServerProcess.start([repository.path, '--store-path', store.path]);
}, drillMsMax);
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  repository.remove();
  store.remove();
});

function drill(...args: string[]): Promise<CommandEnd> {
  return new MillraceCommand(['drill', ...args]).ended;
}

/** The transcript without what a drill did and the log said. */
function clientAndServer(stdout: string): string {
  return stdout
    .split('\n')
    .filter((line) => /^(client|server): /.test(line))
    .join('\n');
}

const token = String.raw`server: token seq=\d+ ".*"\n`;
const id = '[0-9a-f-]{36}';

/** The order of the contract of durable streams. */
function lossTranscript(replaced: string): RegExp {
  return new RegExp(
    [
      String.raw`^client: open stream_id=${id} seq=0 deadline=30s\n`,
      `(?:${token}){4,}`,
      String.raw`server: backend unavailable \(.*\)\n`,
      String.raw`client: status=UNAVAILABLE reconnecting from seq=(\d+)\n`,
      String.raw`client: health state SERVING${replaced} \([\d.]+ s after the loss, asked \d+x\)\n`,
      String.raw`server: resumed stream_id=${id} from seq=\1\n`,
      `(?:${token})+`,
      String.raw`server: output seq=25 end_of_output=true\n`,
      'server: end_of_stream=true$',
    ].join(''),
  );
}

/** Every output once and in order. */
function sequencesIn(stdout: string): readonly number[] {
  return [...stdout.matchAll(/^server: (?:token|output) seq=(\d+)/gm)].map(([, sequence]) => Number(sequence));
}
const all = Array.from({ length: 25 }, (_, index) => index + 1);

test(
  'the router of a server of its own is killed: the transcript has the order of the contract, and the server is gone after it',
  async () => {
    const { code, stdout, stderr } = await drill('--kind', 'router');
    expect(stderr).toBe('');
    expect(clientAndServer(stdout)).toMatch(lossTranscript(' on replacement backend'));
    expect(sequencesIn(stdout)).toEqual(all);
    expect(stdout).toMatch(/^log: router restarted cause=killed signal=SIGKILL$/m);
    expect(stdout).toMatch(
      /^verdict: equal: all 25 outputs are those of the undisturbed run; the client saw status=UNAVAILABLE/m,
    );
    expect(code).toBe(0);
    const killed = Number(/killed router pid=(\d+)/.exec(stdout)?.[1]);
    expect(isAlive(killed)).toBe(false);
    const url = /served at (\S+)$/m.exec(stdout)?.[1] as string;
    await expect(fetch(`${url}/v2/health/live`)).rejects.toThrow();
  },
  drillMsMax,
);

test(
  'a running server: the link is reset, its worker killed, its journal paused and its router killed',
  async () => {
    const worker = server.workerPids('storyteller:1').at(-1) as number;
    const router = server.routerPid;
    const kinds = ['link', 'worker', 'store-pause', 'router'].flatMap((kind) => ['--kind', kind]);
    const journal = ['--journal-path', join(store.path, 'journal'), '--pause', '1'];
    const { code, stdout, stderr } = await drill(
      '--url',
      server.url,
      '--router-pid',
      String(router),
      ...journal,
      ...kinds,
    );
    expect(stderr).toBe('');
    const [, link = '', killed = '', paused = '', restarted = ''] = stdout.split(/^drill: kind .*\n/m);
    expect(clientAndServer(link)).toMatch(lossTranscript(''));
    // It is not known which process answers.
    expect(clientAndServer(restarted)).toMatch(lossTranscript(''));
    for (const part of [killed, paused]) expect(part).not.toMatch(/status=UNAVAILABLE|resumed/);
    for (const part of [link, killed, paused, restarted]) {
      expect(sequencesIn(part)).toEqual(all);
      expect(part).toMatch(/^verdict: equal: /m);
    }
    expect(killed).toContain(`drill: killed worker pid=${worker} with SIGKILL\n`);
    expect(killed).toMatch(/^drill: the model is run by pid=\d+ now$/m);
    expect(paused).toMatch(
      /paused writes of the journal for 1 s.*\n(?:server: token.*\n)*drill: the journal can be written again\n/,
    );
    expect(code).toBe(0);
    expect([isAlive(worker), isAlive(router)]).toEqual([false, false]);
    await eventually('another router listens', () => server.routerPid !== router);
    await server.whenReady();
  },
  drillMsMax,
);

test('an output that differs from the undisturbed run is a failure', async () => {
  const parameters = '{"max_tokens":24,"min_tokens":24,"temperature":2}';
  const { code, stdout } = await drill('--url', server.url, '--parameters', parameters, '--json');
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.at(-1)).toMatchObject({
    kind: 'link',
    isPassed: false,
    verdict: expect.stringMatching(/^FAILED: output \d+ is/),
  });
  expect(code).toBe(1);
});

test('what is not possible is said before anything is done', async () => {
  const remote = await drill('--url', 'http://198.51.100.1:8000', '--kind', 'all');
  expect(remote.stderr.match(/is possible on the machine of the server only/g)).toHaveLength(3);
  expect(remote.code).toBe(2);
  const unknown = await drill('--url', server.url, '--kind', 'router', '--kind', 'store-pause');
  expect(unknown.stderr).toMatch(/--kind router: needs the process to kill: --router-pid PID/);
  expect(unknown.stderr).toMatch(/--kind store-pause: needs the folder of the journal: --journal-path/);
  expect(unknown.code).toBe(2);
  const short = await drill('--url', server.url, '--parameters', '{"max_tokens":3}');
  expect(short.stderr).toMatch(/the undisturbed stream has 4 outputs, and a drill after 4 needs 13/);
  expect(short.code).toBe(1);
  const missing = await drill('--url', server.url, '--model', 'nothing');
  expect(missing.stderr).toMatch(/nothing is not served at .*: NOT_FOUND/);
  expect(missing.code).toBe(1);
});

test('a client of grpc-js sees the same status when its link is reset', async () => {
  const { hostname, port } = new URL(server.url);
  const proxy = await ChaosProxy.open({ target: { host: hostname, port: Number(port) }, random: () => 0 });
  const address = `${proxy.address.host}:${proxy.address.port}`;
  const client = new grpc.Client(address, grpc.credentials.createInsecure(), { 'grpc.enable_retries': 0 });
  const same = (bytes: Buffer): Buffer => bytes;
  const call = client.makeBidiStreamRequest('/millrace.v1.InferenceService/Stream', same, same);
  const status = new Promise<grpc.StatusObject>((resolve) => call.on('status', resolve));
  call.on('error', () => {});
  // An `open` frame with the context storyteller.
  const context = Buffer.from('storyteller');
  const first = new Promise((resolve) => call.once('data', resolve));
  call.write(Buffer.concat([Buffer.from([0x0a, context.length + 2, 0x1a, context.length]), context]));
  await first;
  proxy.apply({ kind: 'reset' });
  expect((await status).code).toBe(grpc.status.UNAVAILABLE);
  client.close();
  await proxy.close();
});
