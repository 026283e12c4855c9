import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type HttpDouble, startHttpDouble } from '../../testing/http-double.ts';
import { runArguments } from '../../testing/run-arguments.ts';
import { CommandFailure } from '../command-failure.ts';

/** A server that records its requests, and answers what the test has set. */
let server: HttpDouble;
let folder = '';
let asked: string[] = [];
let answers: Readonly<Record<string, unknown>> = {};

function answer(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const ifMatch = request.headers['if-match'];
  asked.push(
    [request.method, request.url, body.toString(), ifMatch]
      .filter((part) => part !== undefined && part !== '')
      .join(' '),
  );
  const prepared = answers[`${request.method} ${request.url}`];
  if (prepared === undefined) response.writeHead(204).end();
  else response.end(JSON.stringify(prepared));
}

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'millrace-manage-'));
  writeFileSync(path.join(folder, 'mlp.json'), '{"max_batch_size": 9007199254740993}');
  writeFileSync(path.join(folder, 'new.onnx'), 'onnx');
  server = await startHttpDouble(answer);
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  asked = [];
  answers = {};
});

type More = { readonly delay?: () => Promise<void>; readonly fetch?: typeof fetch };

function models(args: readonly string[], more: More = {}) {
  return run(['models', ...args, ...(args.includes('--url') ? [] : ['--url', server.url])], more);
}

const run = (args: readonly string[], more: More = {}) => runArguments({ args, cwd: folder, ...more });

const base = '/v1/management';
const traffic = {
  labels: { stable: '2' },
  split: [{ version: '1', weight: 90 }],
  shadows: [{ version: '3', percent: 5 }],
  revision: 7,
};

describe('each command is one call', () => {
  test.each([
    [['load', 'mlp'], `POST ${base}/models/mlp/load {}`],
    [['load', 'a/b c'], `POST ${base}/models/a%2Fb%20c/load {}`],
    [
      ['load', 'mlp', '--config', 'mlp.json'],
      `POST ${base}/models/mlp/load {"config":{"max_batch_size":9007199254740993}}`,
    ],
    [
      ['load', 'mlp', '--config', 'mlp.json', '--file', '1/model.onnx=new.onnx'],
      `POST ${base}/models/mlp/load {"config":{"max_batch_size":9007199254740993},"files":{"1/model.onnx":"b25ueA=="}}`,
    ],
    [['traffic', 'mlp'], `GET ${base}/models/mlp/traffic`],
    [['label', 'mlp', 'stable', '2'], `PUT ${base}/models/mlp/labels/stable {"version":"2"}`],
    [['label', 'mlp', 'stable', '2', '--if-revision', '7'], `PUT ${base}/models/mlp/labels/stable {"version":"2"} "7"`],
    [['unlabel', 'mlp', 'stable'], `DELETE ${base}/models/mlp/labels/stable`],
    [
      ['split', 'mlp', '1=90', '2=0.5'],
      `PUT ${base}/models/mlp/split {"split":[{"version":"1","weight":90},{"version":"2","weight":0.5}]}`,
    ],
    [['unsplit', 'mlp'], `PUT ${base}/models/mlp/split {"split":[]}`],
    [['shadow', 'mlp', '3=5'], `PUT ${base}/models/mlp/shadows {"shadows":[{"version":"3","percent":5}]}`],
    [['unshadow', 'mlp'], `PUT ${base}/models/mlp/shadows {"shadows":[]}`],
    [['pin', 'mlp', '2'], `PUT ${base}/models/mlp/versions/2/pin`],
    [['unpin', 'mlp', '2'], `DELETE ${base}/models/mlp/versions/2/pin`],
    [['instances'], `GET ${base}/instances`],
    [['close-breaker', '3'], `POST ${base}/instances/3/breaker/close`],
    [['queues'], `GET ${base}/queues`],
    [['flush-cache'], `DELETE ${base}/cache`],
    [['flush-cache', 'mlp'], `DELETE ${base}/cache/mlp`],
  ])('%j', async (args, call) => {
    expect(await models(args)).toMatchObject({ code: 0, stderr: '' });
    expect(asked).toEqual([call]);
  });
});

describe('unload', () => {
  const open = `GET ${base}/streams?model=mlp&open=true&limit=100`;
  const unload = `POST ${base}/models/mlp/unload {"withDependents":false}`;

  test('asks for open streams first, and says nothing where there are none', async () => {
    answers = { [open]: { streams: [] } };
    expect(await models(['unload', 'mlp'])).toMatchObject({ code: 0, stdout: 'mlp is unloaded\n', stderr: '' });
    expect(asked).toEqual([open, unload]);
    await models(['unload', 'mlp', '--with-dependents']);
    expect(asked.at(-1)).toBe(`POST ${base}/models/mlp/unload {"withDependents":true}`);
  });

  test('says which open streams it waits for, and how to end them', async () => {
    answers = { [open]: { streams: [{ id: 'a' }, { id: 'b' }, { id: 'c' }, { id: 'd' }], next: 'd' } };
    const { code, stdout, stderr } = await models(['unload', 'mlp']);
    expect([code, stdout]).toEqual([0, 'mlp is unloaded\n']);
    expect(stderr).toContain('waiting for 4 or more open streams of mlp (a, b, c, …) to end');
    expect(stderr).toContain('millrace streams cancel ID');
    answers = { [open]: { streams: [{ id: 'a' }] } };
    expect((await models(['unload', 'mlp'])).stderr).toContain('waiting for 1 open stream of mlp (a) to end');
  });

  test('unloads also where open streams cannot be listed', async () => {
    answers = { [open]: ['no object'] };
    expect(await models(['unload', 'mlp'])).toMatchObject({ code: 0, stdout: 'mlp is unloaded\n', stderr: '' });
  });
});

describe('streams', () => {
  const streams = (args: readonly string[]) => run(['streams', ...args, '--url', server.url]);
  const stream = {
    id: '9b1f',
    model: 'listener',
    version: '2',
    epoch: 3,
    owned: true,
    attached: true,
    openedAtMs: 1_700_000_000_000,
    ageMs: 1500,
    expiresAtMs: 1_700_086_400_000,
    acceptedInputs: 4,
    outputs: 9,
    journalBytes: 2048,
    exact: false,
    exactness: 'inexact',
  };
  const failed = { ...stream, id: 'a', ended: { outcome: 'failed', code: 'worker-lost', message: 'the worker died' } };

  test.each([
    [['list'], `GET ${base}/streams`],
    [
      ['list', '--model', 'a b', '--open', '--limit', '5', '--after', '9b1f'],
      `GET ${base}/streams?model=a+b&open=true&limit=5&after=9b1f`,
    ],
    [['show', 'a/b'], `GET ${base}/streams/a%2Fb`],
    [['cancel', '9b1f', '--reason', 'enough'], `POST ${base}/streams/9b1f/cancel {"reason":"enough"}`],
  ])('%j is one call', async (args, call) => {
    expect(await streams(args)).toMatchObject({ code: 0, stderr: '' });
    expect(asked).toEqual([call]);
  });

  test('list prints a table, and how to get the next page', async () => {
    const others = [failed, { ...stream, id: 'b', owned: false }, { ...stream, id: 'c', attached: false }];
    answers = { [`GET ${base}/streams`]: { streams: [stream, ...others], next: 'c' } };
    const { stdout } = await streams(['list']);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^ID +MODEL +STATE +AGE +INPUTS +OUTPUTS +JOURNAL$/);
    expect(lines[1]).toMatch(/^9b1f +listener:2 +attached +1\.5 s +4 +9 +2\.0 KiB$/);
    expect(lines[2]).toMatch(/^a +listener:2 +failed: worker-lost +/);
    expect(lines[3]).toMatch(/^b +listener:2 +in the journal +/);
    expect(lines[4]).toMatch(/^c +listener:2 +detached +/);
    expect(lines.slice(5)).toEqual(['More: --after c', '']);
    expect(JSON.parse((await streams(['list', '--json'])).stdout)).toEqual({ next: 'c', streams: [stream, ...others] });
  });

  test('show prints one stream, with the reason of its end', async () => {
    answers = { [`GET ${base}/streams/a`]: failed };
    const { stdout } = await streams(['show', 'a']);
    expect(stdout).toMatch(/^a\n {2}model +listener:2\n {2}state +failed: worker-lost\n {2}reason +the worker died\n/);
    expect(stdout).toContain('2023-11-14T22:13:20.000Z');
  });

  test.each([
    [['list', '--limit', '0'], 'millrace: --limit: must be a whole number from 1 to 1000, not "0"'],
    [['show'], 'millrace streams show: needs ID: millrace streams show ID [flags]'],
    [['shw'], 'millrace streams: has no command shw.'],
  ])('%j is refused', async (args, message) => {
    const { code, stderr } = await run(['streams', ...args]);
    expect([code, asked]).toEqual([2, []]);
    expect(stderr).toContain(message);
  });
});

describe('output', () => {
  const contexts = [
    {
      model: 'mlp',
      version: '2',
      state: 'ready',
      reason: '',
      labels: ['stable'],
      pinned: true,
      residentBytes: 57_671_680,
      idleMs: 1500,
      waitingRequests: 3,
      runningRequests: 1,
      instances: 2,
    },
    { model: 'new', version: '1', state: 'failed', reason: 'no such operator', labels: [], residentBytes: 0 },
  ];

  test('list prints a table, with failed models and models that are not loaded below it', async () => {
    answers = {
      [`GET ${base}/contexts`]: { contexts },
      [`GET ${base}/models`]: { models: [{ name: 'mlp', version: '2' }, { name: 'new' }, { name: 'spare' }] },
    };
    const { stdout } = await models(['list']);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(/^MODEL +VERSION +STATE +LABELS +INSTANCES +WAITING +RUNNING +MEMORY +IDLE$/);
    expect(lines[1]).toMatch(/^mlp +2 +ready, pinned +stable +2 +3 +1 +55\.0 MiB +1\.5 s$/);
    expect(lines.slice(3)).toEqual(['! new:1: no such operator', 'Not loaded: spare', '']);
    expect(JSON.parse((await models(['list', '--json'])).stdout)).toMatchObject({
      contexts,
      models: [{}, {}, { name: 'spare' }],
    });
  });

  test('traffic is printed as text', async () => {
    answers = { [`GET ${base}/models/mlp/traffic`]: traffic };
    expect((await models(['traffic', 'mlp'])).stdout).toBe(
      'mlp\n  labels    stable=2\n  split     1=90\n  shadows   3=5 %\n  revision  7\n',
    );
    expect(JSON.parse((await models(['traffic', 'mlp', '--json'])).stdout)).toEqual(traffic);
  });

  test('instances and queues are tables', async () => {
    const instance = {
      worker: 1,
      pid: 42,
      model: 'mlp',
      version: '2',
      group: 'g',
      device: 'CPU',
      breaker: 'open',
      outstandingBatches: 1,
      rowMs: 0.25,
    };
    answers = {
      [`GET ${base}/instances`]: { instances: [instance] },
      [`GET ${base}/queues`]: {
        waitingRequests: 3,
        waitingBytes: 2048,
        runningRequests: 1,
        models: [{ model: 'mlp', version: '2', waitingRequests: 3, waitingBytes: 2048, waitMs: 12 }],
      },
    };
    expect((await models(['instances'])).stdout).toMatch(/\n1 +42 +mlp +2 +g +CPU +open +1 +0\.25 ms +all\n$/);
    expect((await models(['queues'])).stdout).toMatch(
      /\nmlp +2 +3 +2\.0 KiB +12 ms\n3 waiting \(2\.0 KiB\), 1 running\n$/,
    );
    answers = { [`DELETE ${base}/cache`]: { results: 12 } };
    expect((await models(['flush-cache'])).stdout).toBe('12 results removed from the cache\n');
  });

  test('a watch repeats the call until the server no longer answers', async () => {
    let updates = 0;
    const delay = () => {
      updates += 1;
      return updates < 3 ? Promise.resolve() : Promise.reject(new CommandFailure('enough'));
    };
    const { code, stdout } = await models(['queues', '--watch', '--interval', '0.5'], { delay });
    expect(asked).toHaveLength(3);
    expect(stdout.match(/waiting/g)).toHaveLength(3);
    expect(code).toBe(1);
  });
});

describe('errors', () => {
  test.each([
    [['load'], 'millrace models load: needs MODEL: millrace models load MODEL [flags]'],
    [
      ['label', 'mlp', 'stable'],
      'millrace models label: needs VERSION: millrace models label MODEL LABEL VERSION [flags]',
    ],
    [['split', 'mlp'], 'millrace models split: needs VERSION=WEIGHT'],
    [['split', 'mlp', '1:90'], '"1:90" must be VERSION=WEIGHT, like 2=10'],
    [['load', 'mlp', '--file', 'new.onnx'], '--file: must be PATH=FILE, not "new.onnx"'],
    [['load', 'mlp', '--file', '1/model.onnx=new.onnx'], '--file: needs --config'],
    [['load', 'mlp', '--config', 'new.onnx'], '--config: new.onnx is not JSON'],
    [['label', 'mlp', 'stable', '2', '--if-revision', 'x'], '--if-revision: must be a whole number, not "x"'],
    [['queues', '--interval', '5'], '--interval: has no effect without --watch'],
    [['queues', '--watch', '--interval', '0'], '--interval: must be seconds from 0.1 to 3600'],
    [['list', '--url', 'unix:m.sock'], '--url: must be like unix:/run/millrace.sock, not "unix:m.sock"'],
    [['list', '--url', 'server:8000'], '--url: must be like http://127.0.0.1:8000'],
    [['pin', 'mlp', '1', '2'], 'is one argument too many for millrace models pin'],
  ])('%j is refused with 2, and nothing is sent', async (args, message) => {
    const { code, stderr } = await models(args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
    expect(asked).toEqual([]);
  });

  test('a file that is not there ends with 1', async () => {
    const { code, stderr } = await models(['load', 'mlp', '--config', 'nope.json']);
    expect([code, stderr]).toEqual([1, 'millrace: nope.json does not exist\n']);
  });

  const refusing = (status: number, code: string, error: string): { fetch: typeof fetch } => ({
    fetch: async () => new Response(JSON.stringify({ error }), { status, headers: { 'millrace-error-code': code } }),
  });

  test.each([
    [404, 'not-found', 'Not Found', /offers no management: .*management\.enabled.*management\.port.*--url/],
    [404, 'not-found', 'management is off; use --management', /offers no management: management is off; use --man/],
    [404, 'unknown-model', "no model 'x'", /the server answered 404: no model 'x'/],
    [409, 'conflict', 'revision 8 now', /409: revision 8 now \(millrace models traffic shows it\)/],
    [503, 'model-not-ready', 'explicit model load / unload is not allowed', /503: explicit model load/],
  ])('an answer %d %s says what to do', async (status, code, error, message) => {
    const reply = await models(['traffic', 'mlp'], refusing(status, code, error));
    expect(reply.stderr).toMatch(message);
    expect(reply.code).toBe(1);
  });

  test('the error for a socket that does not exist has its path', async () => {
    const { code, stderr } = await models(['list', '--url', `unix:${folder}/none.sock`]);
    expect(stderr).toMatch(/nothing answers at unix:.*none\.sock \(ENOENT\)/);
    expect(code).toBe(1);
  });

  test('the error where no server listens has its address', async () => {
    const { code, stderr } = await models(['list', '--url', 'http://127.0.0.1:9']);
    expect(stderr).toMatch(/nothing answers at http:\/\/127\.0\.0\.1:9 .*start a server with millrace serve/);
    expect(code).toBe(1);
  });
});

test('each command has its help, also as an argument of help', async () => {
  const direct = await models(['label', '--help']);
  expect(direct.stdout).toContain('Usage: millrace models label MODEL LABEL VERSION [flags]');
  expect(await run(['help', 'models', 'label'])).toEqual(direct);
  expect((await run(['help', 'models'])).stdout).toContain('Usage: millrace models COMMAND');
});
