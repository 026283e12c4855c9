/**
 * Throughput at saturation against raw ONNX Runtime at its best batch. The calls bring rows enough that the edge's and
 * the callers' own cost, which share the core with the worker here, is small beside the model's.
 */
import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';

const inFlight = 64;
const rowsPerCall = 32;

export const saturationScenario: Scenario = {
  name: 'saturation',
  title: `Saturation: ${inFlight} calls of ${rowsPerCall} MLP rows in flight, no socket, local lane, all on one core`,
  unit: 'rows/s',
  contestants: ['data plane', 'raw session.run at its best batch'],
  goals: [
    {
      statement: 'at least 90 % of raw ONNX Runtime at its best batch',
      bound: 0.9,
      isMinimum: true,
      value: (medians) => (medians['data plane'] as number) / (medians['raw session.run at its best batch'] as number),
    },
  ],
  open: ({ seconds }) =>
    Promise.resolve({
      measure: async (): Promise<Sample> => {
        const raw = await runProgram(0, 'programs/raw-session', [String(seconds)]);
        const plane = await runProgram(0, 'programs/many-callers', [
          String(seconds),
          String(inFlight),
          String(rowsPerCall),
        ]);
        return {
          'data plane': plane.rowsPerSecond as number,
          'raw session.run at its best batch': raw.bestRowsPerSecond as number,
          'mean rows of a batch': plane.meanBatchRows as number,
          'best batch': raw.bestBatch as number,
        };
      },
      close: () => Promise.resolve(),
    }),
};
