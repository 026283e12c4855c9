/** What batching is worth: 64 callers of one MLP row each, in batches and one by one, without a socket. */
import { canPin } from '../pinned-process.ts';
import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';

const inFlight = 64;
const factorMin = 3;

async function rowsPerSecond(seconds: number, rowsMax: number): Promise<number> {
  const shape = ['--seconds', String(seconds), '--in-flight', String(inFlight), '--rows-max', String(rowsMax)];
  const figures = await runProgram(1, 'programs/many-callers', [...shape, ...(canPin ? ['--worker-core', '0'] : [])]);
  return figures.rowsPerSecond as number;
}

export const batchingScenario: Scenario = {
  name: 'batching',
  title: `Batching: ${inFlight} callers of one MLP row each through the data plane, in batches of up to ${inFlight} and alone`,
  unit: 'rows/s',
  contestants: ['batched', 'one by one'],
  goals: [
    {
      statement: `batched at least ${factorMin} times as many as one by one`,
      bound: factorMin,
      isMinimum: true,
      value: (medians) => (medians.batched as number) / (medians['one by one'] as number),
    },
  ],
  open: ({ seconds }) =>
    Promise.resolve({
      measure: async (): Promise<Sample> => ({
        batched: await rowsPerSecond(seconds, inFlight),
        'one by one': await rowsPerSecond(seconds, 1),
      }),
      close: () => Promise.resolve(),
    }),
};
