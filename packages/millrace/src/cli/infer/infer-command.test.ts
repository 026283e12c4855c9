import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type HttpDouble, startHttpDouble } from '../../testing/http-double.ts';
import { runArguments } from '../../testing/run-arguments.ts';

/** A server with one model, `echo`, that returns every input; it records its requests. */
let server: HttpDouble;
let folder = '';
let received: { path: string; headers: IncomingMessage['headers']; body: Buffer }[] = [];
let answerWith: ((response: ServerResponse) => void) | undefined;

const metadata = {
  name: 'echo',
  versions: ['1'],
  inputs: [
    { name: 'x', datatype: 'FP32', shape: [-1, 2] },
    { name: 'n', datatype: 'INT64', shape: [1] },
  ],
  outputs: [],
};

const generatorInputs = ['t', 'more'].map((name) => ({ name, datatype: 'BYTES', shape: [1] }));

function echo(body: Buffer, headers: IncomingMessage['headers'], response: ServerResponse): void {
  const length = headers['inference-header-content-length'];
  const jsonBytes = length === undefined ? body.length : Number(length);
  const request = JSON.parse(body.subarray(0, jsonBytes).toString()) as { inputs: unknown[] };
  const json = JSON.stringify({ model_name: 'echo', model_version: '1', outputs: request.inputs });
  if (length !== undefined) response.setHeader('inference-header-content-length', Buffer.byteLength(json));
  response.end(Buffer.concat([Buffer.from(json), body.subarray(jsonBytes)]));
}

function answer(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  received.push({ path: request.url ?? '', headers: request.headers, body });
  if (answerWith !== undefined) answerWith(response);
  else if (request.url === '/v2/models/echo' || request.url === '/v2/models/echo/versions/3')
    response.end(JSON.stringify(metadata));
  else if (request.url === '/v2/models/text')
    response.end(JSON.stringify({ ...metadata, inputs: [{ name: 't', datatype: 'BYTES', shape: [1] }] }));
  else if (request.url === '/v2/models/generator')
    response.end(JSON.stringify({ ...metadata, inputs: generatorInputs }));
  else if (request.url === '/v2/models/generator/config')
    response.end(JSON.stringify({ input: [{ name: 't' }, { name: 'more', optional: true }] }));
  else if (request.url?.endsWith('/infer') === true) echo(body, request.headers, response);
  else {
    response.statusCode = 404;
    response.end('{"error":"Request for unknown model: \'nope\' is not found"}');
  }
}

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'millrace-infer-'));
  server = await startHttpDouble(answer);
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  received = [];
  answerWith = undefined;
});

function infer(...args: string[]) {
  let time = 0;
  return runArguments({
    args: ['infer', ...args, ...(args.includes('--url') ? [] : ['--url', server.url])],
    cwd: folder,
    stdin: (async function* () {
      yield Buffer.from('{"inputs":[{"name":"s","shape":[1],');
      yield Buffer.from('"datatype":"INT8","data":[7]}]}');
    })(),
    now: () => {
      time += 2.5;
      return time;
    },
  });
}

test('values get their types and shapes from the model', async () => {
  const { code, stdout, stderr } = await infer('echo', '--input', 'x=[1, 2.5, 3, 4]', '--input', 'n=7');
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(stdout).toBe('echo 1  2.5 ms\n  x FP32[2,2]\n    [0] 1, 2.5\n    [1] 3, 4\n  n INT64[1]\n    7\n');
  expect(received.map((one) => one.path)).toEqual(['/v2/models/echo', '/v2/models/echo/infer']);
  expect(received[1]?.body.toString()).toBe(
    '{"inputs":[{"name":"x","datatype":"FP32","shape":[2,2],"data":[1,2.5,3,4]},{"name":"n","datatype":"INT64","shape":[1],"data":[7]}]}',
  );
});

test.each([
  ['words without quotes', 'I loved it.', 'I loved it.'],
  ['a JSON text', '"I loved it."', 'I loved it.'],
  ['a list of them', '["I loved it."]', 'I loved it.'],
  ['what could be a number', '42', '42'],
])('an input of texts takes %s', async (_name, given, sent) => {
  expect((await infer('text', '--input', `t=${given}`)).code).toBe(0);
  expect(JSON.parse(received.at(-1)?.body.toString() ?? '')).toEqual({
    inputs: [{ name: 't', datatype: 'BYTES', shape: [1], data: [sent] }],
  });
});

test.each([
  ['is left out', ['--input', 't=Once'], ['t']],
  ['is not made up', ['--random'], ['t']],
  ['is sent when it is given', ['--input', 't=Once', '--input', 'more={"seed":1}'], ['t', 'more']],
])('an optional input %s', async (_name, args, sent) => {
  expect(await infer('generator', ...args)).toMatchObject({ code: 0, stderr: '' });
  const { inputs } = JSON.parse(received.at(-1)?.body.toString() ?? '') as { inputs: { name: string }[] };
  expect(inputs.map(({ name }) => name)).toEqual(sent);
});

test('an input that is not optional has to be given, also where the server shows no configuration', async () => {
  expect((await infer('generator', '--input', 'more={}')).stderr).toContain('input t BYTES[1] has no values');
  expect((await infer('text')).stderr).toContain('input t BYTES[1] has no values');
});

test('--binary sends and receives tensors as bytes, without loss', async () => {
  const { code, stdout } = await infer('echo', '--binary', '--input', 'x=[[1, 2]]', '--input', 'n=[9007199254740993]');
  expect(code).toBe(0);
  expect(stdout).toContain('9007199254740993');
  const [, request] = received;
  expect(request?.headers['content-type']).toBe('application/octet-stream');
  const jsonBytes = Number(request?.headers['inference-header-content-length']);
  expect(JSON.parse(request?.body.subarray(0, jsonBytes).toString() ?? '')).toEqual({
    parameters: { binary_data_output: true },
    inputs: [
      { name: 'x', datatype: 'FP32', shape: [1, 2], parameters: { binary_data_size: 8 } },
      { name: 'n', datatype: 'INT64', shape: [1], parameters: { binary_data_size: 8 } },
    ],
  });
  expect(request?.body.length).toBe(jsonBytes + 16);
});

test('--deadline-ms sends the deadline to the server', async () => {
  expect((await infer('echo', '--random', '--deadline-ms', '250')).code).toBe(0);
  expect(received.at(-1)?.headers['millrace-timeout-ms']).toBe('250');
  await infer('echo', '--random');
  expect(received.at(-1)?.headers).not.toHaveProperty('millrace-timeout-ms');
  const refused = await infer('echo', '--random', '--deadline-ms', '0');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--deadline-ms: must be a whole number')]);
});

test('--json prints the answer as JSON, also when it came as bytes', async () => {
  const { stdout } = await infer('echo', '--binary', '--json', '--input', 'x=[1,2]', '--input', 'n=[-1]');
  expect(JSON.parse(stdout)).toEqual({
    model_name: 'echo',
    model_version: '1',
    outputs: [
      { name: 'x', datatype: 'FP32', shape: [1, 2], data: [1, 2] },
      { name: 'n', datatype: 'INT64', shape: [1], data: [-1] },
    ],
  });
});

test('--random makes the same inputs for the same seed, others for another, and as many rows as asked', async () => {
  const first = (await infer('echo', '--random', '--json', '--rows', '3')).stdout;
  const again = (await infer('echo', '--random', '--json', '--rows', '3')).stdout;
  const other = (await infer('echo', '--random', '--json', '--rows', '3', '--seed', '9')).stdout;
  expect(again).toBe(first);
  expect(other).not.toBe(first);
  const { outputs } = JSON.parse(first) as { outputs: { shape: number[]; data: number[] }[] };
  expect(outputs[0]?.shape).toEqual([3, 2]);
  expect(outputs[0]?.data).toHaveLength(6);
});

test('--random fills in only what is not given', async () => {
  const { stdout } = await infer(
    'echo',
    '--random',
    '--json',
    '--input',
    'n=[5]',
    '--model-version',
    '3',
    '--shape',
    'x=1,2',
  );
  expect(JSON.parse(stdout)).toMatchObject({ outputs: [{ shape: [1, 2] }, { data: [5] }] });
  expect(received.at(-1)?.path).toBe('/v2/models/echo/versions/3/infer');
});

test('16-bit floats are sent as bytes without --binary', async () => {
  answerWith = (response) => {
    answerWith = undefined;
    response.end('{"name":"half","inputs":[{"name":"h","datatype":"FP16","shape":[2]}]}');
  };
  const { stdout } = await infer('half', '--input', 'h=[0.5, -2]');
  expect(stdout).toContain('h FP16[2]\n    0.5, -2\n');
  expect(received[1]?.headers['content-type']).toBe('application/octet-stream');
});

test('--parameters are those of the request, with JSON and with bytes', async () => {
  const given = '{"max_tokens":64,"stop":["a"]}';
  await infer('text', '--input', 't="hi"', '--parameters', given);
  expect(JSON.parse(String(received.at(-1)?.body))).toMatchObject({ parameters: JSON.parse(given) });
  await infer('text', '--input', 't="hi"', '--parameters', given, '--binary');
  const { body, headers } = received.at(-1) as (typeof received)[number];
  const json = body.subarray(0, Number(headers['inference-header-content-length'])).toString();
  expect(JSON.parse(json)).toMatchObject({ parameters: { ...JSON.parse(given), binary_data_output: true } });
});

test('--data sends a file or standard input unchanged', async () => {
  const body = '{"inputs":[{"name":"f","shape":[1],"datatype":"BOOL","data":[true]}]}';
  writeFileSync(path.join(folder, 'request.json'), body);
  expect((await infer('echo', '--data', 'request.json')).stdout).toContain('f BOOL[1]\n    true');
  expect(received.map((one) => one.body.toString())).toEqual([body]);
  expect((await infer('echo', '--data', '-')).stdout).toContain('s INT8[1]\n    7');
});

test.each<[string, string[], RegExp]>([
  ['no model', [], /^millrace infer: needs the name of a model/],
  [
    'an input without a name',
    ['echo', '--input', '=1'],
    /^millrace: --input: must be NAME=JSON or NAME=@FILE, not "=1"/,
  ],
  [
    'an input without a value',
    ['echo', '--input', 'x'],
    /^millrace: --input: must be NAME=JSON or NAME=@FILE, not "x"/,
  ],
  [
    'a shape of text',
    ['echo', '--shape', 'x=a'],
    /^millrace: --shape: must be NAME=N,N, like x=1,3,224,224, not "x=a"/,
  ],
  [
    'a file and inputs',
    ['echo', '--data', '-', '--random'],
    /^millrace: --data: is a complete request; remove --input, --parameters/,
  ],
  [
    'a seed that is not a number',
    ['echo', '--random', '--seed', 'x'],
    /^millrace: --seed: must be a whole number from 0/,
  ],
  [
    'parameters that are no object',
    ['echo', '--random', '--parameters', '[1]'],
    /^millrace: --parameters: must be a JSON object, like '\{"max_tokens": 64\}', not \[1\]/,
  ],
  [
    'parameters beside a file',
    ['echo', '--data', '-', '--parameters', '{}'],
    /^millrace: --data: is a complete request; remove --input, --parameters/,
  ],
  ['a seed for nothing', ['echo', '--seed', '1'], /^millrace: --seed: has no effect without --random/],
  ['no rows', ['echo', '--random', '--rows', '0'], /^millrace: --rows: must be a whole number from 1/],
  ['a url of another kind', ['echo', '--url', 'ftp://x'], /^millrace: --url: must be like http/],
  ['no url at all', ['echo', '--url', 'x'], /^millrace: --url: must be like http/],
  ['no time', ['echo', '--timeout', '0'], /^millrace: --timeout: must be seconds above 0/],
])('%s is refused with 2 before anything is sent', async (_title, args, stderr) => {
  const result = await infer(...args);
  expect(result.code).toBe(2);
  expect(result.stderr).toMatch(stderr);
  expect(received).toEqual([]);
});

test.each<[string, string[], RegExp]>([
  [
    'an unknown model',
    ['nope', '--random'],
    /the server answered 404: Request for unknown model: 'nope' is not found\n$/,
  ],
  [
    'an unknown input',
    ['echo', '--input', 'y=1'],
    /the model has no input y; it takes x FP32\[\?,2\], n INT64\[1\]\n$/,
  ],
  [
    'a missing input',
    ['echo', '--input', 'x=[1,2]'],
    /input n INT64\[1\] has no values; give --input 'n=\[…\]', --input n=@FILE, or --random\n$/,
  ],
  ['no JSON', ['echo', '--input', 'x=[1,', '--random'], /--input x is not JSON \(.*\); write --input 'x=\[1, 2\]'\n$/],
  [
    'values that do not divide',
    ['echo', '--input', 'x=[1,2,3]', '--random'],
    /values of shape \[3\] do not fit x FP32\[\?,2\]; give their shape with --shape x=N,N\n$/,
  ],
  ['values too deep', ['echo', '--input', 'x=[[[1]]]', '--random'], /values of shape \[1,1,1\] do not fit x/],
  ['ragged values', ['echo', '--input', 'x=[[1,2],[3]]', '--random'], /input 'x'/],
  ['text for a number', ['echo', '--input', 'x=["a","b"]', '--random'], /input 'x'/],
  ['a shape that does not fit', ['echo', '--input', 'x=[1,2]', '--shape', 'x=3,3', '--random'], /input 'x'/],
  [
    'too much randomness',
    ['echo', '--random', '--shape', 'x=100000,100000'],
    /more than 67108864; give a smaller --shape\n$/,
  ],
  ['a file that is not there', ['echo', '--data', 'no.json'], /no\.json does not exist\n$/],
])('%s ends with 1 and one line', async (_title, args, stderr) => {
  const result = await infer(...args);
  expect(result.code).toBe(1);
  expect(result.stderr).toMatch(/^millrace: [^\n]*\n$/);
  expect(result.stderr).toMatch(stderr);
  expect(result.stdout).toBe('');
});

test.each<[string, (response: ServerResponse) => void, RegExp]>([
  ['HTML', (response) => response.end('<html>'), /not JSON; is it an inference server\?/],
  ['a list', (response) => response.end('[]'), /not an object; is it an inference server\?/],
  ['no tensors', (response) => response.end('{}'), /listed no tensors/],
  [
    'odd tensors',
    (response) => response.end('{"inputs":[{"name":"x","datatype":"FP99","shape":[1]}]}'),
    /cannot read: x/,
  ],
  [
    'an error of a proxy',
    (response) => response.writeHead(502).end('<html>'),
    /answered 502; is it an inference server\?/,
  ],
])('an answer with %s is reported as that of another kind of server', async (_title, answer, stderr) => {
  answerWith = answer;
  const result = await infer('echo', '--random');
  expect(result.code).toBe(1);
  expect(result.stderr).toMatch(stderr);
});

test.each<[string, string, string | undefined]>([
  ['a header length beyond the end', '{"outputs":[]}', '999'],
  ['a header length that is not a number', '{"outputs":[]}', 'x'],
  [
    'a tensor beyond the end',
    '{"outputs":[{"name":"y","datatype":"FP32","shape":[9],"parameters":{"binary_data_size":36}}]}',
    undefined,
  ],
  ['data of another shape', '{"outputs":[{"name":"y","datatype":"FP32","shape":[9],"data":[1]}]}', undefined],
  ['no data', '{"outputs":[{"name":"y","datatype":"FP32","shape":[1]}]}', undefined],
])('an answer with %s is refused', async (_title, body, length) => {
  writeFileSync(path.join(folder, 'any.json'), '{}');
  answerWith = (response) => {
    if (length !== undefined) response.setHeader('inference-header-content-length', length);
    response.end(body);
  };
  const result = await infer('echo', '--data', 'any.json');
  expect([result.code, result.stdout]).toEqual([1, '']);
  expect(result.stderr).toMatch(/is shorter than its header says|is invalid/);
});

test('the error where nobody listens says how to start a server', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const { code, stderr } = await infer('echo', '--random', '--url', `http://127.0.0.1:${port}`);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /nothing answers at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\): start a server with millrace serve/,
  );
});

test('a server that does not answer fails the command after --timeout', async () => {
  answerWith = () => {};
  const result = await infer('echo', '--random', '--timeout', '20ms');
  expect(result.stderr).toMatch(/no answer from .* within 0\.02 s; wait longer with --timeout/);
});
