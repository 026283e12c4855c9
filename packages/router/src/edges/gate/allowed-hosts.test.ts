import { describe, expect, test } from 'vitest';
import { AllowedHosts } from './allowed-hosts.ts';

const hostsAt = (bound: string, listed: readonly string[] = [], written = bound): AllowedHosts =>
  new AllowedHosts({ bound, listed, written });

describe('on a loopback address', () => {
  const hosts = hostsAt('127.0.0.1');

  test.each([
    'localhost',
    'localhost:8000',
    'LOCALHOST:8000',
    'localhost.',
    'models.localhost:1',
    '127.0.0.1',
    '127.0.0.1:8001',
    '127.9.8.7',
    '127.1:8000',
    '[::1]:8000',
    '[::ffff:127.0.0.1]:8000',
    '',
  ])('%j is allowed', (authority) => {
    expect(hosts.allows(authority)).toBe(true);
  });

  test.each([
    'evil.example',
    'evil.example:8000',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'evil-localhost',
    '0.0.0.0:8000',
    '10.0.0.1:8000',
    '[fe80::1]:8000',
    'evil.example@localhost',
    ':8000',
    '[::1',
  ])('%j is refused', (authority) => {
    expect(hosts.allows(authority)).toBe(false);
  });

  test('the name that was written for the address is allowed too', () => {
    const named = hostsAt('127.0.1.1', [], 'GPU-1');
    expect(named.allows('gpu-1:8000')).toBe(true);
    expect(named.allows('gpu-2:8000')).toBe(false);
  });
});

test('listed hosts are allowed beside loopback names: as a name, an address, or all below a name', () => {
  const hosts = hostsAt('127.0.0.1', ['Proxy.Example.', '*.cluster.local', 'fd00::7']);
  expect(
    ['proxy.example:443', 'PROXY.example.', 'a.b.cluster.local', '[fd00::7]', 'localhost'].map(allowedBy(hosts)),
  ).toEqual(Array(5).fill(true));
  expect(['cluster.local', 'evilcluster.local', 'a.proxy.example', 'fd00::7'].map(allowedBy(hosts))).toEqual(
    Array(4).fill(false),
  );
});

test('on the network every host is allowed, unless some are listed', () => {
  expect(hostsAt('0.0.0.0').isOpen).toBe(true);
  expect(hostsAt('10.0.0.7').allows('whatever.example')).toBe(true);
  const some = hostsAt('10.0.0.7', ['models.example']);
  expect(['models.example', '10.0.0.7:8000', 'localhost'].map(allowedBy(some))).toEqual([true, true, true]);
  expect(['evil.example', '10.0.0.8'].map(allowedBy(some))).toEqual([false, false]);
});

test('on all interfaces any address is allowed, but once hosts are listed not any name', () => {
  for (const bound of ['0.0.0.0', '::']) {
    const hosts = hostsAt(bound, ['models.example']);
    expect(['10.1.2.3:8000', '[fd00::9]:8000', 'models.example'].map(allowedBy(hosts))).toEqual([true, true, true]);
    expect(hosts.allows('evil.example')).toBe(false);
  }
});

test('a star allows every host, also on loopback', () => {
  expect(hostsAt('127.0.0.1', ['*']).isOpen).toBe(true);
});

function allowedBy(hosts: AllowedHosts): (authority: string) => boolean {
  return (authority) => hosts.allows(authority);
}
