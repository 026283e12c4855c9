/**
 * `npm run simulation:streams -- --seeds 50000 --first 0`: exit code 1 and a trace for the first seed that fails.
 */
import { parseArgs } from 'node:util';
import { simulateStream } from './stream-world.ts';

function mustParseCount(text: string, flag: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 0) return count;
  process.stderr.write(`${flag} takes a whole number of at least 0, not ${text}\n`);
  process.exit(2);
}

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '2000' }, first: { type: 'string', default: '0' } },
});
const first = mustParseCount(values.first, '--first');
const seeds = mustParseCount(values.seeds, '--seeds');

const startedAt = performance.now();
const seen = new Map<string, number>();
let events = 0;
let failed: number | undefined;
for (let seed = first; seed < first + seeds && failed === undefined; seed++) {
  const result = simulateStream(seed);
  events += result.events;
  for (const [name, count] of result.seen) seen.set(name, (seen.get(name) ?? 0) + count);
  if (result.failure !== undefined) failed = seed;
}
if (failed === undefined) {
  const rate = Math.round((seeds * 1000) / (performance.now() - startedAt));
  process.stdout.write(`${seeds} seeds from ${first}, ${events} events, none failed; ${rate} seeds/s\n`);
  process.stdout.write(`${[...seen].map(([name, count]) => `${name} ${count}`).join(', ')}\n`);
} else {
  const { trace, failure } = simulateStream(failed, {}, true);
  process.stdout.write(`${trace.join('\n')}\n\nseed ${failed}: ${failure}\n`);
  process.stdout.write(`to see it again: npm run simulation:streams -- --first ${failed} --seeds 1\n`);
  // An exit at once would cut off what a pipe has not taken yet.
  process.exitCode = 1;
}
