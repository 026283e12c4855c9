import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { type HttpServer, serveWire } from '@millrace/http';
import { afterEach, describe, expect, test } from 'vitest';
import { AllowedHosts } from './allowed-hosts.ts';
import { createGate, type GateOptions } from './gate.ts';

let server: HttpServer | undefined;
let served: string[] = [];
let refused: string[] = [];
afterEach(async () => {
  await server?.close();
  served = [];
  refused = [];
});

const loopback = new AllowedHosts({ listed: [], written: '127.0.0.1', bound: '127.0.0.1' });
const network = new AllowedHosts({ listed: [], written: '0.0.0.0', bound: '0.0.0.0' });

async function open(options: Partial<GateOptions> = {}): Promise<HttpServer> {
  const gate = createGate({ hosts: loopback, origins: [], onRefused: (message) => refused.push(message), ...options });
  server = await serveWire(
    (exchange) => {
      served.push(exchange.path);
      exchange.answer(200, [], undefined, undefined, undefined);
    },
    { gate },
  );
  return server;
}

/** One request, its head as it is sent; the whole answer. */
async function say(...lines: readonly string[]): Promise<string> {
  const socket = connect((server as HttpServer).port, '127.0.0.1');
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.end([...lines, 'Connection: close', '', ''].join('\r\n'));
  await once(socket, 'close');
  return Buffer.concat(pieces).toString();
}

const infer = '/v2/models/m/infer';
const load = '/v2/repository/models/m/load';

/** The status of a request with these fields beside its Host. */
async function ask(method: string, path: string, fields: Readonly<Record<string, string>>): Promise<number> {
  const lines = Object.entries({ Host: 'localhost:8000', 'Content-Length': '0', ...fields });
  const answer = await say(`${method} ${path} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`));
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}

describe('the host that a request names', () => {
  test.each([
    ['GET /v2 HTTP/1.1', ['Host: localhost:8000']],
    ['GET /v2 HTTP/1.1', ['HOST: LocalHost.:8000']],
    ['GET /v2 HTTP/1.1', ['Host: [::1]:8000']],
    ['GET /v2 HTTP/1.1', ['Host:']],
    ['GET /v2 HTTP/1.0', []],
    ['GET http://127.0.0.1:8000/v2 HTTP/1.1', ['Host: 127.0.0.1:8000']],
    ['GET http://127.0.0.1:8000/v2 HTTP/1.0', []],
  ])('%s with %j is served', async (line, fields) => {
    await open();
    expect(await say(line, ...fields)).toMatch(/^HTTP\/1\.[01] 200 /);
    expect(served).toEqual(['/v2']);
  });

  test.each([
    ['GET /v2 HTTP/1.1', ['Host: evil.example:8000']],
    ['GET /v2 HTTP/1.0', ['Host: evil.example']],
    ['GET http://evil.example/v2 HTTP/1.1', ['Host: evil.example']],
    ['GET http://evil.example/v2 HTTP/1.0', []],
    ['POST /v2/repository/index HTTP/1.1', ['Host: localhost.evil.example', 'Content-Length: 0']],
  ])('%s with %j is refused with the setting that allows it', async (line, fields) => {
    await open();
    const answer = await say(line, ...fields);
    expect(answer).toMatch(/^HTTP\/1\.[01] 403 /);
    expect(answer).toContain('millrace-error-code: forbidden');
    expect(answer).toMatch(/\{"error":"this server does not answer for the host .*server\.allowedHosts/);
    expect(served).toEqual([]);
    expect(refused).toHaveLength(1);
  });

  test('a name that was refused before an allowed one is refused after it, too', async () => {
    await open();
    const hosts = ['evil.example', 'localhost', 'evil.example', '127.0.0.1', 'localhost', 'evil.example'];
    const statuses: number[] = [];
    for (const Host of hosts) statuses.push(await ask('GET', '/v2', { Host }));
    expect(statuses).toEqual([403, 200, 403, 200, 200, 403]);
  });

  test('more names than are cached change nothing, and a long one is shortened in the error', async () => {
    await open();
    for (let at = 0; at < 150; at++) expect(await ask('GET', '/v2', { Host: `a${at}.localhost` })).toBe(200);
    expect(await ask('GET', '/v2', { Host: `${'x.'.repeat(2000)}example` })).toBe(403);
    expect(refused[0]?.length).toBeLessThan(300);
  });

  test('on the network every name is served', async () => {
    await open({ hosts: network });
    expect(await ask('GET', '/v2', { Host: 'models.example' })).toBe(200);
  });
});

describe('HTTP/2', () => {
  const call = async (fields: Readonly<Record<string, string>>) => {
    const session = connectHttp2(`http://127.0.0.1:${(server as HttpServer).port}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': '/inference.GRPCInferenceService/ModelInfer',
      ...fields,
    });
    stream.end();
    stream.resume();
    const [headers] = (await once(stream, 'response')) as [Record<string, string>];
    session.close();
    return headers;
  };
  const grpc = { 'content-type': 'application/grpc', te: 'trailers' };

  test.each(['127.0.0.1:8001', 'localhost:8001', 'localhost', '[::1]:8001'])(
    'what a gRPC client sends as :authority, %s, is served',
    async (authority) => {
      await open();
      expect(await call({ ':authority': authority, ...grpc })).toMatchObject({ ':status': 200 });
      expect(served).toHaveLength(1);
    },
  );

  test('another :authority is refused with a gRPC status', async () => {
    await open();
    const headers = await call({ ':authority': 'evil.example:8001', ...grpc });
    expect(headers).toMatchObject({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '7' });
    expect(decodeURIComponent(headers['grpc-message'] as string)).toMatch(/evil\.example:8001.*server\.allowedHosts/);
    expect(served).toEqual([]);
  });

  test('a page that calls by gRPC-Web is refused in the form of gRPC-Web', async () => {
    await open();
    const fields = {
      ':authority': 'localhost',
      'content-type': 'application/grpc-web+proto',
      origin: 'https://evil.example',
    };
    expect(await call(fields)).toMatchObject({ 'content-type': 'application/grpc-web+proto', 'grpc-status': '7' });
    expect(served).toEqual([]);
  });
});

const json = { 'Content-Type': 'application/json' };
const plain = { 'Content-Type': 'text/plain;charset=UTF-8' };
const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
const own = { Origin: 'http://localhost:8000' };
const evil = { Origin: 'https://evil.example' };
const site = (value: string) => ({ 'Sec-Fetch-Site': value });
const link = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' };

describe('the page that a request comes from', () => {
  test.each<[string, string, string, Record<string, string>]>([
    ['curl with -d', 'POST', infer, form],
    ['curl with -d to a management path', 'POST', load, form],
    ['a program without a content type', 'POST', infer, {}],
    ['the fetch of Node.js', 'POST', load, { ...plain, 'Sec-Fetch-Mode': 'cors', Accept: '*/*' }],
    ['a page of its own', 'POST', infer, { ...own, ...site('same-origin'), ...json }],
    ['a page of its own without metadata', 'POST', infer, { ...own, ...plain }],
    ['a page of its own that manages', 'POST', load, { ...own, ...site('same-origin'), ...json }],
    [
      'a page of its own behind a proxy that ends TLS',
      'POST',
      infer,
      { Host: 'localhost', Origin: 'https://localhost' },
    ],
    [
      'a page of its own with the port spelled out',
      'POST',
      infer,
      { Host: 'localhost:80', Origin: 'http://LOCALHOST' },
    ],
    ['a GET of a page of its own', 'GET', '/v2', site('same-origin')],
    ['an address that was typed', 'GET', '/v1/management/contexts', { ...site('none'), ...link }],
    ['a link of another site', 'GET', '/v2', { ...site('cross-site'), ...link }],
    ['a link of another port', 'HEAD', '/v2', { ...site('same-site'), ...link }],
  ])('%s is served', async (_, method, path, fields) => {
    await open();
    expect(await ask(method, path, fields)).toBe(200);
    expect(served).toEqual([path]);
  });

  test.each<[string, string, string, Record<string, string>]>([
    ['a page of another origin', 'POST', infer, { ...evil, ...json }],
    ['the same without a preflight', 'POST', load, { ...evil, ...plain }],
    ['the same with metadata', 'POST', load, { ...evil, ...plain, ...site('cross-site') }],
    ['a GET of a page of another origin', 'GET', '/v2', evil],
    ['a preflight', 'OPTIONS', load, { ...evil, 'Access-Control-Request-Method': 'POST' }],
    ['a page of another port', 'POST', infer, { Origin: 'http://localhost:9000', ...site('same-site'), ...json }],
    ['a page without an origin of its own', 'POST', infer, { Origin: 'null', ...json }],
    ['an empty origin', 'POST', infer, { Origin: '', ...json }],
    ['an origin that only resembles its own', 'POST', infer, { Origin: 'http://localhost:8000.evil.example', ...json }],
    ['an origin with a user', 'POST', infer, { Origin: 'http://evil@localhost:8000', ...json }],
    ['an origin of its own that comes over another site', 'POST', infer, { ...own, ...site('cross-site'), ...json }],
    ['an image of another site', 'GET', '/v2', { ...site('cross-site'), 'Sec-Fetch-Mode': 'no-cors' }],
    ['an image of another port', 'GET', '/v2', { ...site('same-site'), 'Sec-Fetch-Mode': 'no-cors' }],
    ['a frame of another site', 'GET', '/v2', { ...site('cross-site'), ...link, 'Sec-Fetch-Dest': 'iframe' }],
    ['a form of another site', 'POST', load, { ...evil, ...form, ...site('cross-site'), ...link }],
    ['a form without an origin', 'POST', load, { ...form, ...site('cross-site'), ...link }],
    ['metadata that no browser sends', 'GET', '/v2', site('somewhere')],
  ])('%s is refused', async (_, method, path, fields) => {
    await open();
    expect(await ask(method, path, fields)).toBe(403);
    expect(served).toEqual([]);
  });

  test('a second Origin is refused too', async () => {
    await open();
    const answer = await say(
      'GET /v2 HTTP/1.1',
      'Host: localhost',
      'Origin: http://localhost',
      'Origin: https://evil.example',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  });

  test('it is refused on the network as well, and the error names the setting that allows it', async () => {
    await open({ hosts: network });
    const answer = await say(
      'POST /v2 HTTP/1.1',
      'Host: models.example',
      'Content-Length: 0',
      'Origin: https://evil.example',
    );
    expect(answer).toContain('a page of the origin \\"https://evil.example\\" may not call this server');
    expect(answer).toContain('http.corsOrigins');
  });
});

describe('a page of a listed origin', () => {
  const listed = { Origin: 'https://app.example', ...site('cross-site') };
  const managed = [load, '/v1/management/contexts', '/millrace.v1.Management/ListContexts'];
  const repository = '/inference.GRPCInferenceService/RepositoryModelLoad';

  test.each([[['https://app.example']], ['*' as const]])(
    'runs inference and never manages, with %j',
    async (origins) => {
      await open({ origins });
      expect(await ask('POST', infer, { ...listed, ...json })).toBe(200);
      expect(await ask('POST', infer, { ...listed, ...plain })).toBe(200);
      expect(await ask('OPTIONS', infer, { ...listed, 'Access-Control-Request-Method': 'POST' })).toBe(200);
      served = [];
      for (const path of [...managed, repository]) {
        expect(await ask('POST', path, { ...listed, ...json }), path).toBe(403);
        expect(await ask('OPTIONS', path, { ...listed, 'Access-Control-Request-Method': 'POST' }), path).toBe(403);
        expect(await ask('GET', path, listed), path).toBe(403);
      }
      expect(served).toEqual([]);
      expect(refused.every((message) => message.includes('may not manage this server'))).toBe(true);
    },
  );

  test('others are refused unless all are listed', async () => {
    await open({ origins: ['https://app.example'] });
    expect(await ask('POST', infer, { ...evil, ...json })).toBe(403);
    expect(await ask('GET', '/v2', site('cross-site'))).toBe(403);
    await server?.close();
    await open({ origins: '*' });
    expect(await ask('POST', infer, { ...evil, ...json })).toBe(200);
    expect(await ask('POST', infer, { Origin: 'null', ...json })).toBe(200);
    expect(await ask('GET', '/v2', site('cross-site'))).toBe(200);
    expect(await ask('GET', '/v2/repository/index', site('cross-site'))).toBe(403);
  });
});

describe('requests that browsers post for any page without a preflight', () => {
  const types = [plain, form, { 'Content-Type': 'Multipart/Form-Data; boundary=x' }, {}];

  test.each(types)('%j manages nothing, not even for a page of its own', async (type) => {
    await open();
    expect(await ask('POST', load, { ...own, ...site('same-origin'), ...type })).toBe(403);
    expect(await ask('POST', infer, { ...site('none'), ...type })).toBe(403);
    expect(await ask('POST', infer, { ...own, ...site('same-origin'), ...type })).toBe(200);
    expect(await ask('POST', load, type)).toBe(200);
    expect(served).toEqual([infer, load]);
  });
});

describe('where management is not served', () => {
  test('a call says how to switch it on, over REST and gRPC, and others are served', async () => {
    await open({ managementRefusal: 'management is off; use --management' });
    const answer = await say(`POST ${load} HTTP/1.1`, 'Host: localhost', 'Content-Length: 0');
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer).toContain('{"error":"management is off; use --management"}');
    const rpc = '/inference.GRPCInferenceService/RepositoryModelLoad';
    const grpc = ['Host: localhost', 'Content-Length: 0', 'Content-Type: application/grpc+proto'];
    const refusal = await say(`POST ${rpc} HTTP/1.1`, ...grpc);
    expect(refusal).toContain('grpc-status: 12');
    expect(refusal).toContain('grpc-message: management is off; use --management');
    expect(await ask('POST', infer, json)).toBe(200);
    expect(served).toEqual([infer]);
    expect(refused).toEqual([]);
  });
});

test('a page may open a WebSocket where it may call the server, and upgrades name a host of this server', async () => {
  const gate = createGate({ hosts: loopback, origins: ['https://listed.example'], onRefused: () => {} });
  const offered: string[] = [];
  server = await serveWire((exchange) => exchange.answer(200, [], undefined, undefined, undefined), {
    gate,
    onUpgrade: (exchange) => {
      offered.push(exchange.headers.get('origin') ?? 'none');
      return undefined;
    },
  });
  const upgrade = (fields: Readonly<Record<string, string>>) =>
    ask('GET', '/v1/streams', { Connection: 'Upgrade', Upgrade: 'websocket', 'Content-Length': '0', ...fields });
  const site = (origin: string, where: string) => ({ Origin: origin, 'Sec-Fetch-Site': where });
  expect(await upgrade(site('https://evil.example', 'cross-site'))).toBe(403);
  expect(await upgrade({ Origin: 'https://evil.example' })).toBe(403);
  expect(await upgrade({ Host: 'evil.example' })).toBe(403);
  expect(await upgrade({ Host: 'evil.example', Origin: 'http://evil.example' })).toBe(403);
  expect(offered).toEqual([]);
  expect(await upgrade({})).toBe(200);
  expect(await upgrade(site('http://localhost:8000', 'same-origin'))).toBe(200);
  expect(await upgrade(site('https://listed.example', 'cross-site'))).toBe(200);
  expect(offered).toEqual(['none', 'http://localhost:8000', 'https://listed.example']);
});
