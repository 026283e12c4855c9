/**
 * The sizes of runs on a GPU. What CUDA prepares for a convolution holds for one shape, and the engine keeps that of
 * the last run only: a batch of another size than the one before costs a hundred times its run. So such a model runs in
 * a few sizes, each in a session of its own, and smaller batches are filled up.
 */
import type { GpuProvider } from '@millrace/protocol';
import type { ModelView } from '../model/model-view.ts';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';

export const gpuBatchSizesParameter = 'millrace.gpu_batch_sizes';
const parameterPath = `parameters[${JSON.stringify(gpuBatchSizesParameter)}]`;
/** Limited because each size has its own copy of the weights. */
const gpuBatchSizesMax = 16;
/** Below this many rows, fewer rows take a GPU hardly less time. */
const rowsWorthHalving = 8;

export interface BatchSizeHints {
  readonly config: ModelConfig;
  readonly view: Pick<ModelView, 'inputs' | 'outputs' | 'rowsMax'>;
  /** Dimension 0 of every tensor for the engine is the rows. */
  readonly isBatched: boolean;
  /** Rows are independent: it is proven, or the configuration says so. */
  readonly areRowsApart: boolean;
  readonly hasConvolutions: boolean;
  readonly provider: GpuProvider;
}

/** Ascending; undefined: a run may have any number of rows. */
export function readGpuBatchSizes(hints: BatchSizeHints, findings: Findings): readonly number[] | undefined {
  const { config, view, isBatched, areRowsApart, hasConvolutions, provider } = hints;
  const written = config.parameters?.[gpuBatchSizesParameter]?.string_value;
  const hasTexts = [...view.inputs, ...view.outputs].some(({ datatype }) => datatype === 'BYTES');
  // Rows of text have no length to fill up to.
  const canBeFilled = isBatched && !hasTexts;
  if (written !== undefined && written !== 'any') {
    if (!areRowsApart)
      findings.problem(
        parameterPath,
        'fills batches with rows of zeros, but the rows of the graph are not proven independent; remove it, or write millrace.batch: always',
      );
    return writtenSizes(written, view.rowsMax, canBeFilled, findings);
  }
  const isPreparedByShape = hasConvolutions || provider === 'tensorrt';
  return written === undefined && canBeFilled && areRowsApart && isPreparedByShape
    ? defaultSizes(view.rowsMax)
    : undefined;
}

/** The largest size halved repeatedly, so that less than half of a run is padding, down to where it does not matter; and 1. */
function defaultSizes(rowsMax: number): readonly number[] | undefined {
  if (rowsMax === 1) return undefined;
  const sizes = [rowsMax];
  for (let rows = Math.ceil(rowsMax / 2); rows >= rowsWorthHalving; rows = Math.ceil(rows / 2)) sizes.unshift(rows);
  return [1, ...sizes];
}

function writtenSizes(
  written: string,
  rowsMax: number,
  canBeFilled: boolean,
  findings: Findings,
): readonly number[] | undefined {
  const sizes = written.split(',').map((text) => (/^\s*\d{1,9}\s*$/.test(text) ? Number(text) : Number.NaN));
  const isAscending = sizes.every((rows, index) => rows > (sizes[index - 1] ?? 0));
  if (!isAscending || sizes.length > gpuBatchSizesMax) {
    const expected = `up to ${gpuBatchSizesMax} whole numbers from 1, each larger than the one before, or any`;
    findings.problem(parameterPath, `${JSON.stringify(written)} is not a list of sizes; give ${expected}`);
  } else if (!canBeFilled) {
    findings.problem(
      parameterPath,
      'needs batches of rows of one length: no texts, nothing ragged, a max_batch_size; remove it',
    );
  } else if (sizes.at(-1) !== rowsMax) {
    findings.problem(parameterPath, `ends with ${sizes.at(-1)}; the last size must be the max_batch_size, ${rowsMax}`);
  } else return sizes;
  return undefined;
}
