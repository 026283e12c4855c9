import { expect, test } from 'vitest';
import { coreTimesFrom, disturbanceOf, type SliceUse } from './disturbance.ts';

const stat = `cpu  900 10 300 1100 12 0 8 70 0 0
cpu0 600 0 200 400 2 0 4 30 0 0
cpu1 250 10 80 300 10 0 4 40 0 0
cpu2 50 0 20 400 0 0 0 0 0 0
intr 4242
`;

test('idle and stolen time are those of the cores in use', () => {
  expect(coreTimesFrom(stat, ['cpu0', 'cpu1'])).toEqual({ cores: 2, idleMs: 7120, stolenMs: 700 });
  expect(coreTimesFrom(stat, undefined)).toEqual({ cores: 3, idleMs: 11_120, stolenMs: 700 });
});

/** A server that fills its core and a load that fills half of the other. */
const calm: SliceUse = {
  wallMs: 400,
  cores: 2,
  idleMs: 200,
  stolenMs: 0,
  waitingMs: 2,
  ownMs: 590,
  isIncomplete: false,
};

test('a slice in which only servers and load ran is not disturbed', () => {
  expect(disturbanceOf(calm)).toBeUndefined();
});

test('idle time is rounded to ticks of each core, which is no disturbance', () => {
  expect(disturbanceOf({ ...calm, idleMs: 180 })).toBeUndefined();
});

test('each disturbance is recognised', () => {
  expect(disturbanceOf({ ...calm, stolenMs: 40 })).toBe('steal');
  expect(disturbanceOf({ ...calm, idleMs: 100 })).toBe('other processes');
  expect(disturbanceOf({ ...calm, ownMs: 540 })).toBe('other processes');
  expect(disturbanceOf({ ...calm, waitingMs: 10 })).toBe('waiting server busy');
  expect(disturbanceOf({ ...calm, isIncomplete: true })).toBe('thread ended');
});
