/**
 * Throughput at saturation against raw ONNX Runtime at its best batch on the same core. The edge's own cost is taken
 * off by giving callers and router the other core; the inline lane has nowhere else to be and pays for both.
 */
import { canPin } from '../pinned-process.ts';
import { runProgram } from '../run-program.ts';
import type { Goal, Sample, Scenario } from '../scenario.ts';

interface Saturation {
  readonly model: string;
  /** Batches that raw ONNX Runtime is tried with. */
  readonly rawBatches: readonly number[];
  readonly rowsMax: number;
  readonly rowsPerCall: number;
  readonly inFlight: number;
  /**
   * By then a worker has made machine code of what it runs for each batch; saturation is what comes after. Raw ONNX
   * Runtime has next to nothing to compile, and a worker whose batches are few and long does not come to it either.
   */
  readonly warmUpBatches: number;
}

const saturations: readonly Saturation[] = [
  {
    model: 'mlp',
    rawBatches: [1, 64, 256, 512, 1024, 2048],
    rowsMax: 1024,
    rowsPerCall: 64,
    inFlight: 64,
    warmUpBatches: 4000,
  },
  {
    model: 'digits',
    rawBatches: [1, 4, 8, 16, 32, 64],
    rowsMax: 16,
    rowsPerCall: 4,
    inFlight: 64,
    warmUpBatches: 4000,
  },
  { model: 'resnet-shaped', rawBatches: [1, 2, 4], rowsMax: 4, rowsPerCall: 1, inFlight: 16, warmUpBatches: 0 },
];
const shareMin = 0.95;
const local = (model: string): string => `${model}, local lane`;
const raw = (model: string): string => `${model}, raw session.run at its best batch`;

async function measureOne(options: Saturation, seconds: number): Promise<Sample> {
  const { model, rawBatches, rowsMax, rowsPerCall, inFlight, warmUpBatches } = options;
  const rawFigures = await runProgram(0, 'programs/raw-session', [String(seconds), model, rawBatches.join()]);
  const load = ['--model', model, '--seconds', String(seconds), '--in-flight', String(inFlight)];
  const warmUp = ['--warm-up-batches', String(warmUpBatches)];
  const shape = ['--rows-per-call', String(rowsPerCall), '--rows-max', String(rowsMax)];
  const pinned = canPin ? ['--worker-core', '0'] : [];
  const figures = await runProgram(1, 'programs/many-callers', [...load, ...warmUp, ...shape, ...pinned]);
  const sample: Record<string, number> = {
    [local(model)]: figures.rowsPerSecond as number,
    [raw(model)]: rawFigures.rowsPerSecond as number,
    [`${model}, mean rows of a batch`]: figures.meanBatchRows as number,
    [`${model}, best batch of raw session.run`]: rawFigures.bestBatch as number,
    // For a busy machine, where rows/s tell most of all how much of it others took.
    [`${model}, microseconds of processor a row, worker`]:
      (figures.workerMicros as number) / (figures.meanBatchRows as number),
    [`${model}, microseconds of processor a row, raw`]: rawFigures.microsPerRow as number,
  };
  if (model === 'mlp') {
    const inline = await runProgram(0, 'programs/many-callers', [...load, ...warmUp, ...shape, '--lane', 'inline']);
    sample[`${model}, inline lane, one core for all`] = inline.rowsPerSecond as number;
  }
  return sample;
}

const goals: readonly Goal[] = saturations.map(({ model }) => ({
  statement: `${model}: local lane at least ${shareMin * 100} % of raw ONNX Runtime at its best batch`,
  bound: shareMin,
  isMinimum: true,
  value: (medians) => (medians[local(model)] as number) / (medians[raw(model)] as number),
}));

export const saturationScenario: Scenario = {
  name: 'saturation',
  title:
    'Saturation: more rows in flight than the worker can run, no socket; the worker has a core, the router another',
  unit: 'rows/s',
  contestants: saturations.flatMap(({ model }) => [local(model), raw(model)]),
  goals,
  open: ({ seconds }) =>
    Promise.resolve({
      measure: async (): Promise<Sample> => {
        let sample: Sample = {};
        for (const saturation of saturations) sample = { ...sample, ...(await measureOne(saturation, seconds)) };
        return sample;
      },
      close: () => Promise.resolve(),
    }),
};
