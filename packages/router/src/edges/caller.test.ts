import { AddressRanges, type Peer, RawHeaderFields } from '@millrace/http';
import { describe, expect, test } from 'vitest';
import { CallerRule, callerLengthMax } from './caller.ts';

const peer: Peer = { address: '10.0.0.9', port: 5, isEncrypted: false, owner: '10.0.0.9', isTrustedProxy: false };
const proxy: Peer = { ...peer, address: '10.0.0.1', owner: '10.0.0.1', isTrustedProxy: true };
const trustedProxies = new AddressRanges(['10.0.0.1']);

function callerOf(rule: CallerRule, from: Peer, fields: Readonly<Record<string, string>> = {}): string {
  return rule.callerOf(new RawHeaderFields(Object.entries(fields).flat()), from);
}

test('a caller is the owner of its connection, whatever its headers say', () => {
  const rule = new CallerRule();
  expect(callerOf(rule, peer, { 'millrace-caller': 'x', 'x-forwarded-for': '192.0.2.1' })).toBe('10.0.0.9');
  const ipv6 = { ...peer, address: '2001:db8::1', owner: '2001:db8:0:0::/64' };
  expect(callerOf(rule, ipv6)).toBe('2001:db8:0:0::/64');
  expect([rule.readsHeaders(peer), rule.isByConnection]).toEqual([false, true]);
});

describe('where the operator trusts a header field', () => {
  const rule = new CallerRule({ header: 'millrace-caller' });

  test('it names the caller', () => {
    expect(callerOf(rule, peer, { 'millrace-caller': 'team-a' })).toBe('team-a');
    expect(callerOf(rule, peer, { 'x-other': 'team-a' })).toBe('10.0.0.9');
    expect(rule.readsHeaders(peer)).toBe(true);
  });

  test('a request without the field, or with an empty one, is of its connection', () => {
    expect(callerOf(rule, peer)).toBe('10.0.0.9');
    expect(callerOf(rule, peer, { 'millrace-caller': '' })).toBe('10.0.0.9');
  });

  test('a name is cut at its maximum', () => {
    const name = 'x'.repeat(callerLengthMax + 1);
    expect(callerOf(rule, peer, { 'millrace-caller': name })).toBe(name.slice(1));
  });

  test('with a list of proxies only theirs is trusted', () => {
    const strict = new CallerRule({ header: 'millrace-caller', trustedProxies });
    const fields = { 'millrace-caller': 'team-a', 'x-forwarded-for': '198.51.100.7' };
    expect(callerOf(strict, proxy, fields)).toBe('team-a');
    expect(callerOf(strict, peer, fields)).toBe('10.0.0.9');
    expect(callerOf(strict, proxy, { 'x-forwarded-for': '198.51.100.7' })).toBe('10.0.0.1');
    expect([strict.readsHeaders(proxy), strict.readsHeaders(peer), strict.isByConnection]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('X-Forwarded-For', () => {
  const rule = new CallerRule({ trustedProxies });

  test('of a trusted proxy names the caller, by its owner', () => {
    expect(callerOf(rule, proxy, { 'x-forwarded-for': '192.0.2.66, 198.51.100.7' })).toBe('198.51.100.7');
    expect(callerOf(rule, proxy, { 'x-forwarded-for': '::ffff:198.51.100.7' })).toBe('198.51.100.7');
    expect(callerOf(rule, proxy, { 'x-forwarded-for': '[2001:db8::77]:9000' })).toBe('2001:db8:0:0::/64');
  });

  test('of anyone else is not read', () => {
    expect(callerOf(rule, peer, { 'x-forwarded-for': '198.51.100.7' })).toBe('10.0.0.9');
  });

  test('without an address in it leaves the request to the proxy', () => {
    expect(callerOf(rule, proxy)).toBe('10.0.0.1');
    expect(callerOf(rule, proxy, { 'x-forwarded-for': 'unknown' })).toBe('10.0.0.1');
  });
});
