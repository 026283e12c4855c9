import { AddressRanges } from '@millrace/http';
import { describe, expect, test } from 'vitest';
import { forwardedHopsMax, takeForwardedAddress } from './forwarded-address.ts';

const proxies = new AddressRanges(['10.0.0.0/8', '2001:db8:f::/48']);
const read = (...lines: string[]) => takeForwardedAddress(lines, proxies);

describe('the address that the last trusted proxy saw', () => {
  test.each([
    ['198.51.100.7', '198.51.100.7'],
    ['198.51.100.7, 10.0.0.1', '198.51.100.7'],
    ['198.51.100.7,10.0.0.2 ,\t10.0.0.1', '198.51.100.7'],
    ['2001:db8:a::7, 2001:db8:f::1', '2001:db8:a::7'],
    ['198.51.100.7:4711', '198.51.100.7'],
    ['[2001:db8:a::7]:443', '2001:db8:a::7'],
    ['[2001:db8:a::7]', '2001:db8:a::7'],
    ['::ffff:198.51.100.7, ::ffff:10.0.0.1', '::ffff:198.51.100.7'],
  ])('%s', (line, address) => {
    expect(read(line)).toBe(address);
  });

  test('repeated fields are one list', () => {
    expect(read('192.0.2.1, 198.51.100.7', '10.0.0.2', '10.0.0.1')).toBe('198.51.100.7');
  });

  test('where all are trusted, the left-most', () => {
    expect(read('10.0.0.3, 10.0.0.2')).toBe('10.0.0.3');
  });
});

describe('a client cannot forge its address', () => {
  test.each([
    ['a list of its own', '192.0.2.1, 192.0.2.2, 198.51.100.7', '198.51.100.7'],
    ['addresses of proxies', '10.0.0.1, 10.0.0.1, 198.51.100.7', '198.51.100.7'],
    ['garbage', 'localhost, <script>, "", 198.51.100.7', '198.51.100.7'],
    ['garbage before proxies', 'victim, 10.0.0.2', '10.0.0.2'],
    ['an empty entry', '192.0.2.1,, 10.0.0.2', '10.0.0.2'],
    ['commas', ',,,198.51.100.7', '198.51.100.7'],
  ])('by %s', (_, line, address) => {
    expect(read(line)).toBe(address);
  });

  test.each([
    '',
    ' ',
    ',',
    'unknown',
    '_hidden',
    '256.1.1.1',
    '1.2.3',
    '1.2.3.4:',
    '1.2.3.4:port',
    '[1.2.3.4]',
    '[::1',
    '2001:db8::1%eth0x]',
    'x'.repeat(100_000),
  ])('an invalid address is ignored: %#', (line) => {
    expect(read(line)).toBeUndefined();
  });

  test('an entry longer than an address is not cut to one', () => {
    expect(read(`${'9'.repeat(100)} 198.51.100.7`)).toBeUndefined();
    expect(read(`x${' '.repeat(100)}198.51.100.7`)).toBeUndefined();
  });

  test('only a limited number of hops is read', () => {
    const trusted = Array.from({ length: 3 * forwardedHopsMax }, (_, index) => `10.0.0.${index}`);
    expect(read(`192.0.2.1, ${trusted.join(', ')}`)).toBe(`10.0.0.${2 * forwardedHopsMax}`);
    expect(read('192.0.2.1', ...trusted)).toBe(`10.0.0.${2 * forwardedHopsMax}`);
  });
});

test('without the field there is no address', () => {
  expect(read()).toBeUndefined();
});
