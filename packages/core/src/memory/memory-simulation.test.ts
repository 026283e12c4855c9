import { expect, test } from 'vitest';
import { MemoryLedger } from './memory-ledger.ts';
import { memoryBugs } from './testing/memory-bugs.ts';
import { type MakeLedger, MemoryWorld, type WorldOptions } from './testing/memory-world.ts';

const seeds = 50;
const steps = 80;
const makeLedger: MakeLedger = (limits) => new MemoryLedger(limits);

function simulate(options: WorldOptions): ReadonlyMap<string, number> {
  const world = new MemoryWorld(options);
  try {
    world.run();
  } catch (error) {
    throw new Error(`seed ${options.seed}: ${(error as Error).message}`, { cause: error });
  }
  return world.referee.seen;
}

test(`in ${seeds} worlds no byte is lost, no wake-up is missed, and no owner denies another more than its share`, () => {
  const seen = new Map<string, number>();
  for (let seed = 0; seed < seeds; seed++) {
    for (const [what, count] of simulate({ seed, makeLedger, steps })) seen.set(what, (seen.get(what) ?? 0) + count);
  }
  // Whatever can happen has happened, and often.
  for (const what of ['granted', 'waiting', 'told', 'refused', 'answered', 'stalled', 'given up']) {
    expect(seen.get(what), what).toBeGreaterThan(100);
  }
});

test('half-arrived bodies do not wait for each other for ever, even without a limit on the wait', () => {
  let told = 0;
  for (let seed = 0; seed < 15; seed++) {
    const wire = { waitSteps: Infinity, stallSteps: 20 };
    told += simulate({ seed, makeLedger, steps: 50, wire, kinds: ['uploads', 'slow', 'silent'] }).get('told') ?? 0;
  }
  expect(told).toBeGreaterThan(100);
});

test.each(Object.entries(memoryBugs))('the simulation finds a ledger that %s', (_, make) => {
  const findings: string[] = [];
  for (let seed = 0; seed < seeds && findings.length === 0; seed++) {
    try {
      simulate({ seed, makeLedger: make, steps });
    } catch (error) {
      findings.push((error as Error).message);
    }
  }
  expect(findings).toEqual([expect.stringContaining('broken rule')]);
});
