/**
 * How long requests and answers with much JSON hold the event loop. Budget: the longest turn, printed with each case, is at
 * most 5 ms on a quiet machine, 20 ms on any; all of a large request takes at most 1.5 times as long as JSON.parse alone.
 *
 *     npx tsc -b && npx vitest bench --run --project unit packages/router/src/edges/rest/turns
 */
import { gzipSync } from 'node:zlib';
import { bench, describe } from 'vitest';
import { catalogueOf, echoEdge, jsonRequest, viewOf } from './testing/echo-double.ts';

type Datatype = 'BYTES' | 'FP32' | 'FP64' | 'INT64';

const numbers = (count: number, text: (index: number) => string): string =>
  `[${Array.from({ length: count }, (_, index) => text(index)).join()}]`;
const row = numbers(784, (index) => String(Math.fround(Math.sin(index + 1))));

const cases: readonly (readonly [name: string, datatype: Datatype, shape: readonly number[], data: string])[] = [
  ['1,000 rows of 784 floats', 'FP32', [1000, 784], numbers(1000, () => row)],
  ['subnormal numbers', 'FP64', [1_000_000, 1], numbers(1_000_000, () => '3e-310')],
  ['large integers', 'INT64', [500_000, 1], numbers(500_000, () => '8223372036854775123')],
  ['empty texts', 'BYTES', [1_000_000, 1], numbers(1_000_000, () => '""')],
  ['one long text', 'BYTES', [1, 1], JSON.stringify(['a'.repeat(8 * 1024 * 1024)])],
];

/** Runs something and gives the longest time between two turns of the event loop meanwhile. */
async function longestTurnMs(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let isRunning: boolean = true;
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (isRunning) setImmediate(tick);
  };
  setImmediate(tick);
  await run();
  isRunning = false;
  return longest;
}

for (const [name, datatype, shape, data] of cases) {
  const tensor = { name: 'x', datatype, shape: [-1, shape[1] ?? 1] } as const;
  const { call, dataPlane } = echoEdge({
    catalogue: catalogueOf(viewOf('m', { inputs: [tensor], outputs: [tensor] })),
  });
  const body = `{"inputs":[{"name":"x","shape":[${shape.join()}],"datatype":"${datatype}","data":${data}}]}`;
  const packed = { ...jsonRequest(body), body: gzipSync(body), headers: [['content-encoding', 'gzip']] as const };
  const ask = async (request: Parameters<typeof call>[0]): Promise<void> => {
    await call(request);
    dataPlane.requests.length = 0;
  };
  await ask(jsonRequest(body));
  const turnMs = await longestTurnMs(() => ask(jsonRequest(body)));
  const manyMs = await longestTurnMs(() => Promise.all(Array.from({ length: 8 }, () => ask(packed))));
  const turns = `longest turn ${turnMs.toFixed(1)} ms, of 8 at once and packed ${manyMs.toFixed(1)} ms`;
  describe(`${name}, ${(body.length / 2 ** 20).toFixed(1)} MiB, echoed (${turns})`, () => {
    bench('through the edge', () => ask(jsonRequest(body)), { iterations: 3, time: 0 });
    bench('JSON.parse and JSON.stringify alone', () => void JSON.stringify(JSON.parse(body)), {
      iterations: 3,
      time: 0,
    });
  });
}
