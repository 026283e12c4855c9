/** `node tests/dist/simulation/main.js --seeds 10000 --from 0`: exit code 1 and a trace for the first seed that fails. */
import { parseArgs } from 'node:util';
import { describeFailure, simulate } from './simulation.ts';

function mustParseCount(text: string, flag: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 0) return count;
  process.stderr.write(`${flag} takes a whole number of at least 0, not ${text}\n`);
  process.exit(2);
}

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1000' }, from: { type: 'string', default: '0' } },
});
const from = mustParseCount(values.from, '--from');
const seeds = mustParseCount(values.seeds, '--seeds');

const startedAt = performance.now();
let eventCount = 0;
const seen = new Map<string, number>();
for (let seed = from; seed < from + seeds; seed++) {
  const result = simulate(seed);
  eventCount += result.eventCount;
  for (const [name, count] of result.seen) seen.set(name, (seen.get(name) ?? 0) + count);
  if (result.failure === undefined) continue;
  const traced = simulate(seed, { isTraced: true });
  process.stdout.write(`${(traced.trace ?? []).join('\n')}\n\n${describeFailure(traced)}\n`);
  process.stdout.write(`it is the first of ${seed - from + 1} seeds to fail\n`);
  process.exit(1);
}
const seconds = (performance.now() - startedAt) / 1000;
const rate = Math.round(seeds / seconds);
process.stdout.write(`${seeds} seeds from ${from}, ${eventCount} events, none failed; ${rate} seeds/s\n`);
process.stdout.write(`${[...seen].map(([name, count]) => `${name} ${count}`).join(', ')}\n`);
