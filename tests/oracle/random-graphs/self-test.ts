/**
 * Shows that the oracle finds what it is for: graphs whose requests must not share runs are served with a configuration that lets them,
 * and nearly all must be found to answer wrong. Usage: node self-test.js [--from SEED] [--graphs N] [--python PATH]
 */
import { parseArgs } from 'node:util';
import type { CaseResult } from './result.ts';
import { pythonDefault, runGraphs } from './run-graphs.ts';

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '0' },
    graphs: { type: 'string', default: '400' },
    python: { type: 'string', default: pythonDefault },
  },
});
/** Of graphs that answer wrong when all requests share one run, so many must be found: shared runs hold only some of the requests. */
const foundShareMin = 0.8;
const plantedMin = 10;

const results: CaseResult[] = [];
await runGraphs(
  {
    python: values.python,
    from: Number(values.from),
    graphs: Number(values.graphs),
    graphsInChunk: 100,
    serving: { isSharingForced: true },
  },
  (chunk) => {
    results.push(...chunk.results);
  },
);
// After one shared run the server may have seen itself that the rows do not fit, and run each request alone from then on.
const planted = results.filter(({ stacked, sharedRuns }) => stacked === 'differs' && sharedRuns > 1);
const isFound = ({ failures }: CaseResult) => failures.some(({ kind }) => kind === 'wrong' || kind === 'five-hundred');
const found = planted.filter(isFound);
const missed = planted.filter((result) => !isFound(result)).map(({ seed }) => seed);
process.stdout.write(
  `${planted.length} graphs that must not share runs shared them; found wrong: ${found.length}; not found: ${missed.join(', ')}\n`,
);
const isGood = planted.length >= plantedMin && found.length >= foundShareMin * planted.length;
process.stdout.write(isGood ? '1 passed, 0 failed\n' : '0 passed, 1 failed\n');
process.exitCode = isGood ? 0 : 1;
