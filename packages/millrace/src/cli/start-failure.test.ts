import { expect, test } from 'vitest';
import { resolveConfig } from '../config/resolve-config.ts';
import { serverUrl } from '../server-url.ts';
import { startFailureText } from './start-failure.ts';

const config = resolveConfig({ cwd: '/' });

test.each([
  [
    { code: 'EADDRINUSE', port: 8000 },
    'port 8000 on 127.0.0.1 is in use: stop the program that listens there, or choose another port with --http-port (0 takes any free one)',
  ],
  [
    { code: 'EADDRINUSE', port: 8001 },
    'port 8001 on 127.0.0.1 is in use: stop the program that listens there, or choose another port with --grpc-port (0 takes any free one)',
  ],
  [
    { code: 'EADDRINUSE', port: 8002 },
    'port 8002 on 127.0.0.1 is in use: stop the program that listens there, or choose another port with --metrics-port (0 takes any free one)',
  ],
  [
    { code: 'EACCES', port: 80 },
    'may not listen on port 80 on 127.0.0.1: ports below 1024 need privileges; choose a higher one with --http-port',
  ],
  [
    { code: 'EACCES', message: "open '/models'" },
    "permission denied: open '/models'; make the path readable for this user",
  ],
  [
    { code: 'ENOTFOUND' },
    '127.0.0.1 is not an address of this machine: give one with --host (0.0.0.0 means all of them)',
  ],
  [
    { code: 'EADDRNOTAVAIL' },
    '127.0.0.1 is not an address of this machine: give one with --host (0.0.0.0 means all of them)',
  ],
  [new Error('no space left'), 'no space left'],
  ['a string', 'a string'],
  [undefined, 'undefined'],
])('%o is reported in one line', (error, text) => {
  expect(startFailureText(error, config)).toBe(text);
});

test('a management port or socket that cannot be used is reported with its own setting', () => {
  const options = { management: { port: 9000, host: '127.0.0.2' } };
  const text = startFailureText({ code: 'EADDRINUSE', port: 9000 }, resolveConfig({ options, cwd: '/' }));
  expect(text).toMatch(/^port 9000 on 127\.0\.0\.2 is in use: .*--management-port/);
  const socket = resolveConfig({ options: { management: { socket: '/run/m.sock' } }, cwd: '/' });
  const error = { code: 'EADDRINUSE', path: '/run/m.sock', message: 'cannot listen on /run/m.sock: why' };
  expect(startFailureText(error, socket)).toBe('cannot listen on /run/m.sock: why');
});

test.each([
  ['127.0.0.1', 'http://127.0.0.1:80'],
  ['0.0.0.0', 'http://127.0.0.1:80'],
  ['::', 'http://[::1]:80'],
  ['fe80::1', 'http://[fe80::1]:80'],
  ['example.com', 'http://example.com:80'],
])('a server on %s is reached at %s', (host, url) => {
  expect(serverUrl(host, 80)).toBe(url);
});
