import { expect, test } from 'vitest';
import { AddressRanges, isAddressRange } from './address-ranges.ts';

test('addresses and ranges of both families hold what lies in them', () => {
  const ranges = new AddressRanges(['192.0.2.7', '10.0.0.0/8', '2001:db8::/32', '::1']);
  for (const address of ['192.0.2.7', '10.255.0.1', '2001:db8:ffff::1', '2001:DB8::', '::1']) {
    expect(ranges.has(address), address).toBe(true);
  }
  for (const address of ['192.0.2.8', '11.0.0.1', '2001:db9::1', '::2', '', 'unknown', '10.0.0', '10.0.0.1:80']) {
    expect(ranges.has(address), address).toBe(false);
  }
});

test('the IPv6-mapped spelling is the same address, in the list and out of it', () => {
  expect(new AddressRanges(['10.0.0.0/8']).has('::ffff:10.1.2.3')).toBe(true);
  expect(new AddressRanges(['::ffff:10.0.0.0/104']).has('10.1.2.3')).toBe(true);
  expect(new AddressRanges(['::ffff:10.0.0.0/104']).has('11.1.2.3')).toBe(false);
  expect(new AddressRanges(['::ffff:10.1.2.3']).has('::ffff:a01:203')).toBe(true);
});

test('an empty list holds nothing', () => {
  const ranges = new AddressRanges([]);
  expect([ranges.isEmpty, ranges.has('127.0.0.1')]).toEqual([true, false]);
});

test.each([
  '10.0.0.0/33',
  '::/129',
  '10.0.0.0/',
  '10.0.0.0/8/8',
  '10.0.0.0/-1',
  'proxy.example',
  '',
  '/8',
  'fe80::1%eth0',
  '::ffff:10.0.0.0/8',
])('what is no address or range is refused: %j', (text) => {
  expect(isAddressRange(text)).toBe(false);
  expect(() => new AddressRanges([text])).toThrow(RangeError);
});
