/**
 * `node tests/dist/simulation/main.js --seeds 10000 --from 0`: exit code 1 and a trace for the first seed that fails.
 * `--seconds 120` begins no further seed after that time.
 */
import { parseArgs } from 'node:util';
import { describeFailure, simulate } from './simulation.ts';

function mustParseCount(text: string, flag: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count >= 0) return count;
  process.stderr.write(`${flag} takes a whole number of at least 0, not ${text}\n`);
  process.exit(2);
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '0' },
    seconds: { type: 'string' },
  },
});
const from = mustParseCount(values.from, '--from');
const seeds = mustParseCount(values.seeds, '--seeds');

const secondsMax = values.seconds === undefined ? Infinity : mustParseCount(values.seconds, '--seconds');

const startedAt = performance.now();
let eventCount = 0;
const seen = new Map<string, number>();
let seed = from;
let hasFailed = false;
for (; seed < from + seeds && performance.now() - startedAt < secondsMax * 1000; seed++) {
  const result = await simulate(seed);
  eventCount += result.eventCount;
  for (const [name, count] of result.seen) seen.set(name, (seen.get(name) ?? 0) + count);
  if (result.failure === undefined) continue;
  const traced = await simulate(seed, { isTraced: true });
  process.stdout.write(`${(traced.trace ?? []).join('\n')}\n\n${describeFailure(traced)}\n`);
  process.stdout.write(`it is the first of ${seed - from + 1} seeds to fail\n`);
  // An exit at once would cut off what a pipe has not taken yet.
  process.exitCode = 1;
  hasFailed = true;
  break;
}
if (!hasFailed) {
  const seconds = (performance.now() - startedAt) / 1000;
  const ran = seed - from;
  const rate = Math.round(ran / seconds);
  process.stdout.write(`${ran} seeds from ${from}, ${eventCount} events, none failed; ${rate} seeds/s\n`);
  process.stdout.write(`${[...seen].map(([name, count]) => `${name} ${count}`).join(', ')}\n`);
}
