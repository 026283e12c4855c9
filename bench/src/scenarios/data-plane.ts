import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';

const inFlight = 64;
/** Of either, before it is measured: both share their core with V8's compiler until what runs for each batch is compiled. */
const warmUpSeconds = 3;

export const dataPlaneScenario: Scenario = {
  name: 'data-plane',
  title: `The data plane alone: ${inFlight} calls of one MLP row in flight, no socket, local lane, all on one core`,
  unit: 'rows/s',
  contestants: ['data plane', 'bare loop, same batches'],
  goals: [
    {
      statement: 'data plane at least two thirds of the bare loop',
      bound: 2 / 3,
      isMinimum: true,
      value: (medians) => (medians['data plane'] as number) / (medians['bare loop, same batches'] as number),
    },
  ],
  open: ({ seconds }) =>
    Promise.resolve({
      measure: async (): Promise<Sample> => {
        const figures = await runProgram(0, 'programs/many-callers', [
          ...['--seconds', String(seconds), '--in-flight', String(inFlight), '--bare'],
          ...['--warm-up-seconds', String(warmUpSeconds)],
        ]);
        return {
          'data plane': figures.rowsPerSecond as number,
          'bare loop, same batches': figures.bareRowsPerSecond as number,
          'mean rows of a batch': figures.meanBatchRows as number,
        };
      },
      close: () => Promise.resolve(),
    }),
};
