import { expect, test } from 'vitest';
import { randomFrom } from '../seeded-random.ts';
import { chaosKinds } from './fault.ts';
import { faultFrom, faultText } from './fault-text.ts';
import { drawFault } from './random-faults.ts';

test.each([
  ['cut', 'cut'],
  ['reset', 'reset'],
  ['heal', 'heal'],
  ['half-close server', 'half-close server'],
  ['black-hole', 'black-hole'],
  ['black-hole for 2s', 'black-hole for 2000ms'],
  ['delay 200ms', 'delay 200ms'],
  ['delay 0.2s  jitter 50ms for 1min', 'delay 200ms jitter 50ms for 60000ms'],
  ['limit 65536 for 3s', 'limit 64KiB for 3000ms'],
])('%s is read, and written as %s', (written, text) => {
  const fault = faultFrom(written);
  expect(faultText(fault)).toBe(text);
  expect(faultFrom(text)).toEqual(fault);
});

test.each([
  ['', /"" is not a fault; give one of cut, reset/],
  ['explode', /"explode" is not a fault/],
  ['delay', /delay needs a time/],
  ['delay 5', /delay needs a time up to 24h with its unit, like 200ms or 3s, not "5"/],
  ['delay 25h', /up to 24h/],
  ['delay -5ms', /not "-5ms"/],
  ['delay 5ms for', /delay needs a time after for/],
  ['limit 0', /limit needs bytes a second, like 64KiB, not "0"/],
  ['half-close both', /half-close needs client or server, not "both"/],
  ['cut now', /unexpected argument "now" after cut/],
])('%s is refused', (written, message) => {
  expect(() => faultFrom(written)).toThrow(message);
});

test('the same seed draws the same faults, another seed others, and every kind comes', () => {
  const drawn = (seed: number) => {
    const random = randomFrom(seed);
    return Array.from({ length: 60 }, () => drawFault({ meanMs: 1000, kinds: chaosKinds, random }));
  };
  expect(drawn(7)).toEqual(drawn(7));
  expect(drawn(7)).not.toEqual(drawn(8));
  expect(new Set(drawn(7).map(({ fault }) => fault.kind))).toEqual(new Set(chaosKinds));
  for (const { afterMs, fault } of drawn(7)) {
    expect(afterMs).toBeGreaterThanOrEqual(100);
    expect(afterMs).toBeLessThanOrEqual(3000);
    expect(faultFrom(faultText(fault))).toEqual(fault);
  }
});
