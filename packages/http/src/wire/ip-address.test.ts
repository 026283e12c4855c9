import { describe, expect, test } from 'vitest';
import { ownerOfAddress, unmappedAddress } from './ip-address.ts';

describe('the owner of an address', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['127.0.0.1', '127.0.0.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:c000:0201', '192.0.2.1'],
    ['0000:0000:0000:0000:0000:ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:255.255.255.255', '255.255.255.255'],
  ])('IPv4, also mapped into IPv6: %s', (address, owner) => {
    expect(ownerOfAddress(address)).toBe(owner);
  });

  test.each([
    ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
    ['2001:db8:0:1:ffff:ffff:ffff:ffff', '2001:db8:0:1::/64'],
    ['2001:0DB8:0000:0001:0000:0000:0000:0001', '2001:db8:0:1::/64'],
    ['2001:db8:0:2::1', '2001:db8:0:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['::1', '::/64'],
    ['::', '::/64'],
    ['::1.2.3.4', '::/64'],
    ['::fffe:1.2.3.4', '::/64'],
    ['::1:ffff:1.2.3.4', '::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['fe80::2%lo', 'fe80:0:0:0::/64'],
  ])('IPv6 by its /64: %s', (address, owner) => {
    expect(ownerOfAddress(address)).toBe(owner);
  });

  test.each(['', 'unknown', '1.2.3', ':::', '1::2::3', '12345::', 'x:y', '::ffff:1.2.3.256'])(
    'what is no address stays as it is: %j',
    (text) => {
      expect(ownerOfAddress(text)).toBe(text);
    },
  );
});

test('only mapped addresses become IPv4', () => {
  expect(unmappedAddress('::ffff:10.1.2.3')).toBe('10.1.2.3');
  expect(unmappedAddress('::10.1.2.3')).toBe('::10.1.2.3');
  expect(unmappedAddress('2001:db8::ffff:10.1.2.3')).toBe('2001:db8::ffff:10.1.2.3');
});
