/** `millrace stream` as a user runs it: text, audio and lines, lost links and a killed router, Ctrl-C, taking a stream up again. */
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ModelRepository, writeStorytellerFolder } from '@millrace/worker/testing';
import { ChaosProxy } from 'millrace/internal';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { MillraceCommand } from '../support/millrace-command.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';
import { StreamSocketClient } from '../support/stream-socket-client.ts';
import { mustBeWav } from '../support/wav-file.ts';

const repository = new ModelRepository();
const running: MillraceCommand[] = [];
const proxies: ChaosProxy[] = [];
let server: ServerProcess;

beforeAll(async () => {
  await writeStorytellerFolder(join(repository.path, 'story/1'));
  cpSync(join(repositoryRoot, 'models/listener_tensors'), join(repository.path, 'listener_tensors'), {
    recursive: true,
  });
  server = await ServerProcess.start([repository.path]);
});
afterEach(async () => {
  for (const { child } of running.splice(0)) child.kill('SIGKILL');
  for (const proxy of proxies.splice(0)) await proxy.close();
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  repository.remove();
});

const takeOverMsMax = 120_000;
const prompt = 'Once upon a time';

function run(args: readonly string[], url = server.url, input?: string | Buffer): MillraceCommand {
  const command = new MillraceCommand(['stream', ...args, '--url', url], input);
  running.push(command);
  return command;
}

/** By another interface of the server. */
async function generated(parameters: object): Promise<string> {
  const body = JSON.stringify({ text_input: prompt, ...parameters });
  const answer = await fetch(`${server.url}/v2/models/story/generate`, { method: 'POST', body });
  return ((await answer.json()) as { readonly text_output: string }).text_output;
}

/** Slow enough that something can happen in the middle of a text. */
async function slowProxy(): Promise<ChaosProxy> {
  const { hostname, port } = new URL(server.url);
  const proxy = await ChaosProxy.open({ target: { host: hostname, port: Number(port) }, random: () => 0 });
  proxies.push(proxy);
  proxy.apply({ kind: 'limit', bytesPerSecond: 8192, forMs: undefined });
  return proxy;
}

const urlOf = ({ address: { host, port } }: ChaosProxy): string => `http://${host}:${port}`;

test('a generator prints the text that a plain call gets', async () => {
  const expected = await generated({ max_tokens: 20, seed: 7, temperature: 0.8 });
  const { code, stdout, stderr } = await run([
    'story',
    prompt,
    '--parameters',
    '{"temperature":0.8}',
    '--seed',
    '7',
    '--max-tokens',
    '20',
  ]).ended;
  expect(stdout).toBe(`${expected}\n`);
  expect(stderr).toMatch(/^millrace: stream [0-9a-f-]{36} of story:1\n$/);
  expect(code).toBe(0);
});

test(
  'a text goes on where it was after a reset link and a killed router, and says so',
  async () => {
    const expected = await generated({ max_tokens: 100, min_tokens: 100, seed: 7, temperature: 0.8 });
    const proxy = await slowProxy();
    const parameters = '{"max_tokens":100,"min_tokens":100,"seed":7,"temperature":0.8}';
    const command = run(['story', prompt, '--parameters', parameters], urlOf(proxy));
    await command.until((stdout) => stdout.length > 20);
    proxy.apply({ kind: 'reset' });
    await command.until((_stdout, stderr) => stderr.includes('resumed after output'));
    process.kill(server.routerPid, 'SIGKILL');
    await command.until((_stdout, stderr) => stderr.split('resumed after output').length > 2);
    proxy.apply({ kind: 'heal' });
    const { code, stdout, stderr } = await command.ended;
    expect(stdout).toBe(`${expected}\n`);
    expect(stderr).toMatch(/connection lost \(UNAVAILABLE: .*\); resuming after output \d+ in \d+ ms/);
    expect(code).toBe(0);
    await server.whenReady();
  },
  takeOverMsMax,
);

test('Ctrl-C cancels the stream, with exit code 130', async () => {
  const proxy = await slowProxy();
  const command = run(
    ['story', prompt, '--max-tokens', '300', '--stream-id', 'cancelled-by-ctrl-c-4711'],
    urlOf(proxy),
  );
  await command.until((stdout) => stdout.length > 20);
  command.child.kill('SIGINT');
  const { code, stderr } = await command.ended;
  expect(stderr).toMatch(/cancelling the stream; once more leaves at once/);
  expect(code).toBe(130);
  const shown = await fetch(`${server.url}/v1/management/streams/cancelled-by-ctrl-c-4711`);
  expect(JSON.stringify(await shown.json())).toMatch(/cancelled/);
});

test('a stream that a killed client has left is taken up after its last output', async () => {
  const expected = await generated({ max_tokens: 200, min_tokens: 200, seed: 3, temperature: 0.8 });
  const proxy = await slowProxy();
  const parameters = '{"max_tokens":200,"min_tokens":200,"seed":3,"temperature":0.8}';
  const id = ['--stream-id', 'taken-up-0123456789abcdef', '--parameters', parameters];
  const first = run(['story', prompt, ...id, '--json'], urlOf(proxy));
  await first.until((stdout) => stdout.split('"output"').length > 10);
  first.child.kill('SIGKILL');
  const lines = (await first.ended).stdout.split('\n').filter((line) => line.endsWith('}'));
  const outputs = lines.flatMap((line) => {
    const { output } = JSON.parse(line) as { output?: { sequence: number; tensors?: { data: string[] }[] } };
    return output === undefined ? [] : [output];
  });
  const seen = outputs.map(({ tensors = [] }) => tensors[0]?.data[0] ?? '').join('');
  expect(seen.length).toBeLessThan(expected.length);
  const resumed = run(['story', ...id, '--resume-after', String(outputs.at(-1)?.sequence)]);
  const { code, stdout, stderr } = await resumed.ended;
  expect(seen + stdout).toBe(`${expected}\n`);
  expect(stderr).toMatch(/stream taken-up-0123456789abcdef of story:1, taken up after output \d+/);
  expect(code).toBe(0);
});

test('a recording is heard frame by frame, from a file in real time and from a pipe, as another client gets it', async () => {
  const file = join(repositoryRoot, 'zoo/samples/commands.wav');
  const { samples, rate } = mustBeWav(readFileSync(file));
  const frames = Math.ceil(samples.length / 320);
  const client = await StreamSocketClient.connect(server.url, {});
  client.send({ open: { context: 'listener_tensors' } });
  for (let frame = 0; frame < frames; frame++) {
    const data = new Float32Array(320);
    data.set(samples.subarray(frame * 320, (frame + 1) * 320));
    const tensor = {
      name: 'audio',
      datatype: 'FP32',
      shape: [1, 320],
      raw: Buffer.from(data.buffer).toString('base64'),
    };
    await client.received('opened');
    if (frame > 0) await client.received('output', frame);
    client.send({ input: { sequence: frame + 1, tensors: [tensor], endOfInput: frame === frames - 1 } });
  }
  await client.received('ended');
  client.socket.terminate();
  const expected = client.all('output').map(({ sequence, inputSequence, tensors }) => ({
    sequence,
    inputSequence,
    outputs: Object.fromEntries((tensors as { name: string; data: number[] }[]).map(({ name, data }) => [name, data])),
  }));
  expect(rate).toBe(16_000);
  const lines = (text: string): unknown[] =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  const inTime = await run(['listener_tensors', '--input', `audio=@${file}`, '--real-time']).ended;
  expect(lines(inTime.stdout)).toEqual(expected);
  expect(inTime.code).toBe(0);
  const piped = run(['listener_tensors', '--input', 'audio=@-'], server.url, readFileSync(file));
  expect(lines((await piped.ended).stdout)).toEqual(expected);
});

test('lines of standard input are inputs, by name too, and wrong ones are refused', async () => {
  const silence = JSON.stringify({ audio: Array.from({ length: 320 }, () => 0) });
  const { code, stdout } = await run(['listener_tensors'], server.url, `${silence}\n\n${silence}\n`).ended;
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { sequence: number }).sequence),
  ).toEqual([1, 2]);
  expect(code).toBe(0);
  const wrong = await run(['listener_tensors'], server.url, '{"video":[1]}\n').ended;
  expect(wrong.stderr).toMatch(/the model has no input video; it takes audio FP32/);
  expect(wrong.code).toBe(1);
});

test('what cannot be streamed is said in one line, with exit code 1 or 2', async () => {
  const unknown = await run(['nothing', 'hello']).ended;
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringMatching(/cannot go on: unknown-model: .*'nothing'/),
  ]);
  const nowhere = await run(['story', 'hello'], 'http://127.0.0.1:1').ended;
  expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringMatching(/nothing answers at .*ECONNREFUSED/)]);
  const misspelt = await run(['story', 'hello', '--parameters', '{"temprature":1}']).ended;
  expect([misspelt.code, misspelt.stderr]).toEqual([
    1,
    expect.stringMatching(/cannot go on: invalid-request:.*did you mean temperature/),
  ]);
  const wrong = await run(['story', 'hello', '--real-time', '--resume-after', '3', '--parameters', '[]']).ended;
  expect(wrong.code).toBe(2);
  expect(wrong.stderr.split('\n').filter((line) => line !== '')).toHaveLength(3);
});
