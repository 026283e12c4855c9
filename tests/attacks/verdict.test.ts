import { expect, test } from 'vitest';
import type { Attack } from './attack.ts';
import { budgetBytes } from './budgets.ts';
import type { BystanderReport } from './bystander/bystander.ts';
import type { AttackReport } from './run-attack.ts';
import { attackVerdictOn } from './verdict.ts';

const attack: Attack = { name: 'none', row: 'Nothing.', expected: 'refused', run: async () => {} };
const bystander: BystanderReport = {
  ...{ calls: 10, refused: 0, failed: 0, wrong: 0, skipped: 0, problems: [] },
  ...{ latenciesMs: [1, 2], largeLatenciesMs: [5] },
};
const harmless: AttackReport = {
  ...{ attack, isSharedAddress: false, bystander, calm: bystander, hasServerDied: false, afterwards: '' },
  fate: { opened: 1, disconnected: 1, hungUp: 0, answered: 0, bodyBytes: 0, refusals: {}, harms: [] },
  ...{ peakBytes: budgetBytes, leftBytes: 0 },
  loop: { longestMs: 90, longestHeldMs: 15, histogram: {} },
};

test('an attack that nobody noticed and that was cut off did no harm', () => {
  expect(attackVerdictOn(harmless)).toEqual({ problems: [], remarks: [] });
});

const harms: readonly (readonly [what: string, change: Partial<AttackReport>, problem: RegExp])[] = [
  ['a refused call', { bystander: { ...bystander, refused: 1 } }, /1 calls refused/],
  ['a failed call', { bystander: { ...bystander, failed: 2 } }, /2 failed/],
  ['a wrong answer', { bystander: { ...bystander, wrong: 1 } }, /1 answered wrongly/],
  ['calls that could not be made', { bystander: { ...bystander, skipped: 3 } }, /3 not made/],
  ['no call at all', { bystander: { ...bystander, calls: 0 } }, /made no call/],
  ['memory over the budgets and 15 %', { peakBytes: budgetBytes * 1.16 }, /the router held/],
  ['an event loop held too long', { loop: { longestMs: 150, longestHeldMs: 101, histogram: {} } }, /held for 101 ms/],
  ['metrics that cannot be read', { loop: undefined }, /metrics could not be read/],
  ['the end of the server', { hasServerDied: true }, /the server ended/],
  ['an address that stays refused', { afterwards: 'REST 503' }, /not served: REST 503/],
  ['an attacker that nobody stopped', { fate: { ...harmless.fate, disconnected: 0 } }, /neither refused/],
  ['what the attacker achieved', { fate: { ...harmless.fate, harms: ['ran code'] } }, /ran code/],
  ['memory out of proportion to the bodies', { attack: { ...attack, memoryPerBodyByteMax: 4 } }, /for bodies of 0 MiB/],
];
for (const [what, change, problem] of harms) {
  test(`${what} fails the attack`, () => {
    const { problems } = attackVerdictOn({ ...harmless, ...change });
    expect(problems).toEqual([expect.stringMatching(problem)]);
  });
}

test('an attacker that does what is allowed need not be refused', () => {
  const { problems } = attackVerdictOn({
    ...harmless,
    attack: { ...attack, expected: 'harmless' },
    fate: { ...harmless.fate, disconnected: 0 },
  });
  expect(problems).toEqual([]);
});

test('goals that are missed are remarks', () => {
  const { problems, remarks } = attackVerdictOn({
    ...harmless,
    bystander: { ...bystander, latenciesMs: [20] },
    loop: { longestMs: 40, longestHeldMs: 30, histogram: {} },
  });
  expect(problems).toEqual([]);
  expect(remarks).toEqual([expect.stringContaining('held for 30 ms'), expect.stringContaining('10.0 times')]);
});
