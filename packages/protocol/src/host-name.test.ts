import { expect, test } from 'vitest';
import { hostFrom, hostFromName, isAddress, isLoopbackHost, isLoopbackName } from './host-name.ts';

test.each([
  ['localhost', 'localhost'],
  ['LocalHost:8000', 'localhost'],
  ['localhost.', 'localhost'],
  ['localhost.:8000', 'localhost'],
  ['localhost:', 'localhost'],
  ['app.LOCALHOST', 'app.localhost'],
  ['127.0.0.1:8001', '127.0.0.1'],
  ['127.1', '127.0.0.1'],
  ['2130706433', '127.0.0.1'],
  ['127.0.0.1.', '127.0.0.1'],
  ['[::1]:8000', '::1'],
  ['[0:0:0:0:0:0:0:1]', '::1'],
  ['[::FFFF:127.0.0.1]', '::ffff:7f00:1'],
  ['gpu_1.example.com', 'gpu_1.example.com'],
  ['', undefined],
  [':8000', undefined],
  ['::1', undefined],
  ['evil.example@localhost', undefined],
  ['localhost/evil.example', undefined],
  ['localhost\\evil.example', undefined],
  ['localhost#x', undefined],
  ['localhost:99999', undefined],
  ['local host', undefined],
  ['256.0.0.1', undefined],
])('the authority %j names the host %j', (authority, host) => {
  expect(hostFrom(authority)).toBe(host);
});

test('an address without brackets is a host where it stands alone', () => {
  expect(hostFromName('::1')).toBe('::1');
  expect(hostFromName('FD00::1')).toBe('fd00::1');
  expect(hostFromName('GPU-1')).toBe('gpu-1');
});

test.each([
  ['localhost', true],
  ['a.b.localhost', true],
  ['127.0.0.1', true],
  ['127.255.255.254', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['128.0.0.1', false],
  ['::2', false],
  ['localhost.example.com', false],
  ['notlocalhost', false],
  ['127.0.0.1.example.com', false],
  ['', false],
])('%j is loopback: %j', (name, isLoopback) => {
  expect(isLoopbackName(name)).toBe(isLoopback);
});

test('addresses are told from names', () => {
  expect(['127.0.0.1', '::1', 'fd00::1'].every(isAddress)).toBe(true);
  expect(['localhost', '1.example.com'].some(isAddress)).toBe(false);
  expect(isLoopbackHost('127.example.com')).toBe(false);
});
