/**
 * Throughput at saturation against raw ONNX Runtime at its best batch on the same core. The edge's own cost is taken
 * off by giving callers and router the other core; the inline lane has nowhere else to be and pays for both.
 */
import { canPin } from '../pinned-process.ts';
import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';

const inFlight = 64;
const rowsPerCall = 32;
const rowsMax = 256;

export const saturationScenario: Scenario = {
  name: 'saturation',
  title: `Saturation: ${inFlight} calls of ${rowsPerCall} MLP rows in flight, batches of up to ${rowsMax}, no socket; the worker has a core, the router another`,
  unit: 'rows/s',
  contestants: ['local lane', 'inline lane, one core for all', 'raw session.run at its best batch'],
  goals: [
    {
      statement: 'local lane at least 90 % of raw ONNX Runtime at its best batch',
      bound: 0.9,
      isMinimum: true,
      value: (medians) => (medians['local lane'] as number) / (medians['raw session.run at its best batch'] as number),
    },
  ],
  open: ({ seconds }) =>
    Promise.resolve({
      measure: async (): Promise<Sample> => {
        const common = ['--seconds', String(seconds), '--in-flight', String(inFlight)];
        const shape = ['--rows-per-call', String(rowsPerCall), '--rows-max', String(rowsMax)];
        const raw = await runProgram(0, 'programs/raw-session', [String(seconds)]);
        const local = await runProgram(1, 'programs/many-callers', [
          ...common,
          ...shape,
          ...(canPin ? ['--worker-core', '0'] : []),
        ]);
        const inline = await runProgram(0, 'programs/many-callers', [...common, ...shape, '--lane', 'inline']);
        return {
          'local lane': local.rowsPerSecond as number,
          'inline lane, one core for all': inline.rowsPerSecond as number,
          'raw session.run at its best batch': raw.bestRowsPerSecond as number,
          'mean rows of a batch, local lane': local.meanBatchRows as number,
          'best batch': raw.bestBatch as number,
        };
      },
      close: () => Promise.resolve(),
    }),
};
