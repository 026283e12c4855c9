/**
 * Whether one checkout of this repository is slower than another, both built: `--before DIR --after DIR`. Load alternates in
 * short slices between a server of each, pair by pair, for several fresh instances; more are measured while the intervals are
 * too wide to tell. Exit status 0: no slower; 1: slower; 2: not run; 3: cannot tell.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Cell, cells, type PreparedCell } from '../comparison/cells.ts';
import { contestantsFor, isBuiltCheckout } from '../comparison/checkouts.ts';
import { type InstanceResult, measureInstance, type Side } from '../comparison/measure-instance.ts';
import { profileBoth } from '../comparison/profile-both.ts';
import { summaryOf } from '../comparison/summary.ts';
import { type ComparisonOutcome, type ComparisonVerdict, comparisonVerdictOn } from '../comparison/verdict.ts';
import { pinning } from '../pinned-process.ts';

const { values } = parseArgs({
  options: {
    before: { type: 'string' },
    after: { type: 'string' },
    /** Compares `before` with itself: shows what this machine can resolve. */
    check: { type: 'boolean', default: false },
    /** Only these loads. */
    cell: { type: 'string', multiple: true },
    /** Fresh processes of each server, and pairs of slices for each; as many instances again while the verdict is open. */
    instances: { type: 'string', default: '5' },
    slices: { type: 'string', default: '20' },
    /** Of a load: no further instances are begun that would end later. */
    'minutes-max': { type: 'string', default: '6' },
    'slice-ms': { type: 'string', default: '400' },
    /** Seconds of load on each server before its first slice. */
    warmup: { type: 'string', default: '2' },
    /** Instead of a verdict: CPU profiles of both into this folder, and the functions whose self time differs most. */
    profile: { type: 'string' },
  },
});

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

function numberOf(flag: 'instances' | 'slices' | 'minutes-max' | 'slice-ms' | 'warmup'): number {
  const value = Number(values[flag]);
  return value > 0 ? value : fail(`--${flag} must be a number above 0: ${values[flag]}`);
}

function checkoutOf(flag: Side): string {
  const checkout = resolve(values[flag] ?? '');
  if (values[flag] !== undefined && isBuiltCheckout(checkout)) return checkout;
  fail(`--${flag} must be a checkout of this repository that is built (npm ci && npx tsc -b): ${checkout}`);
}

const plan = {
  pairs: numberOf('slices'),
  sliceMs: numberOf('slice-ms'),
  warmupMs: numberOf('warmup') * 1000,
  isAfterFirst: false,
};
const instancesStep = numberOf('instances');
const cellMsMax = numberOf('minutes-max') * 60_000;
const checkouts = { before: checkoutOf('before'), after: checkoutOf(values.check ? 'before' : 'after') };
const unknown = (values.cell ?? []).filter((wanted) => !cells.some(({ name }) => name === wanted));
if (unknown.length > 0) fail(`no load ${unknown.join(', ')}; there are ${cells.map(({ name }) => name).join(', ')}`);
if (process.platform !== 'linux') fail('the processor time of a server is known on Linux only');

async function compare(cell: Cell, load: PreparedCell): Promise<ComparisonOutcome> {
  const began = performance.now();
  const results: InstanceResult[] = [];
  let isTimeLeft = true;
  let verdict: ComparisonVerdict;
  do {
    // The verdict is checked only after a whole step: checking it after every instance would stop by chance at one that fits.
    for (let count = 0; count < instancesStep && isTimeLeft; count++) {
      const isAfterFirst = results.length % 2 === 1;
      results.push(await measureInstance(contestantsFor(cell, checkouts), load, { ...plan, isAfterFirst }));
      const nextEndMs = (performance.now() - began) * (1 + 1 / results.length);
      isTimeLeft = results.length < instancesStep || nextEndMs <= cellMsMax;
    }
    verdict = comparisonVerdictOn(results.map(({ pairs }) => pairs));
  } while (verdict.outcome === 'cannot tell' && isTimeLeft);
  console.log(summaryOf(cell.name, verdict, results));
  return verdict.outcome;
}

const seconds = (plan.sliceMs / 1000).toFixed(2);
console.log(
  `${plan.pairs} pairs of ${seconds} s for each instance; ${pinning}; load average ${loadavg()[0]?.toFixed(1)}`,
);
if (values.check) console.log('before against itself: the intervals show what this machine can resolve');
const folder = mkdtempSync(join(tmpdir(), 'millrace-compare-'));
const outcomes: ComparisonOutcome[] = [];
try {
  for (const cell of cells.filter(({ name }) => values.cell?.includes(name) ?? true)) {
    const load = await cell.prepare(folder);
    if (values.profile === undefined) outcomes.push(await compare(cell, load));
    else
      console.log(
        await profileBoth(contestantsFor(cell, checkouts), checkouts, cell.name, load, plan, resolve(values.profile)),
      );
  }
} finally {
  rmSync(folder, { recursive: true });
}
process.exitCode = outcomes.includes('slower') ? 1 : outcomes.includes('cannot tell') ? 3 : 0;
