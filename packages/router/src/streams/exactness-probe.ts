/**
 * Finds out whether a stateful model gives streams the same bits alone, in company and after a rebuild: runs a few short
 * streams of generated inputs in these ways, and compares all outputs, the states among them.
 */
import { elementCount, type Tensor } from '@millrace/protocol';
import type { Exactness } from './exactness.ts';
import { probeInputs } from './probe-inputs.ts';
import type { StreamModel } from './stream-model.ts';

export interface ProbeParts {
  readonly model: StreamModel;
  /** Requests of the model share runs. */
  readonly sharesRuns: boolean;
  /** Runs the model once, with nothing beside it. The outputs are the caller's to keep. */
  readonly run: (inputs: readonly Tensor[]) => Promise<readonly Tensor[]>;
  /** The state as it comes back from a journal. */
  readonly rebuilt: (state: readonly Tensor[]) => readonly Tensor[];
}

/** Streams that are compared, and their steps; a rebuild goes on after the middle. */
const streamsCompared = 3;
const steps = 4;
const stepsBeforeRebuild = 2;
/** Rows of shared runs; the largest is what a batch of the model may have, up to this. */
const companySizes = [2, 3, 8, 64];

type State = readonly Tensor[] | undefined;

interface ProbeStep {
  readonly outputs: readonly Tensor[];
  readonly state: readonly Tensor[];
}

/** Rejects where the model cannot be run. */
export async function probeExactness(parts: ProbeParts): Promise<Exactness> {
  const alone: (readonly ProbeStep[])[] = [];
  for (let stream = 0; stream < streamsCompared; stream++) alone.push(await stepsAlone(parts, stream, 0, undefined));
  for (const [stream, undisturbed] of alone.entries()) {
    const { state } = undisturbed[stepsBeforeRebuild - 1] as ProbeStep;
    const again = await stepsAlone(parts, stream, stepsBeforeRebuild, parts.rebuilt(state));
    const isSame = again.every(({ outputs }, index) =>
      areSame(outputs, undisturbed[stepsBeforeRebuild + index]?.outputs ?? []),
    );
    if (!isSame) return { verdict: 'inexact', reason: 'a step that is run again from a checkpoint gives other bits' };
  }
  const { view } = parts.model;
  if (!view.isBatched || !parts.sharesRuns)
    return { verdict: 'exact', reason: 'steps run alone, as all its requests do' };
  if (view.shaping !== undefined) {
    return { verdict: 'alone', reason: 'inputs of a shared run are padded to the size of the largest' };
  }
  for (const size of sizesUpTo(view.rowsMax)) {
    if (!(await isSameInCompany(parts, size, alone))) {
      return { verdict: 'alone', reason: `a step in a run of ${size} rows gives other bits than alone` };
    }
  }
  return { verdict: 'exact', reason: 'steps give the same bits alone, in company and rebuilt' };
}

function sizesUpTo(rowsMax: number): readonly number[] {
  const largest = companySizes.at(-1) as number;
  return [...new Set([...companySizes.filter((size) => size <= rowsMax), Math.min(rowsMax, largest)])].filter(
    (size) => size > 1,
  );
}

/** Runs the steps of a stream from one on. */
async function stepsAlone(
  { model, run }: ProbeParts,
  stream: number,
  from: number,
  before: State,
): Promise<readonly ProbeStep[]> {
  const done: ProbeStep[] = [];
  let state = before;
  for (let step = from; step < steps; step++) {
    const outputs = await run(stepInputs(model, stream, step, state));
    state = model.split(outputs).state;
    done.push({ outputs, state });
  }
  return done;
}

/** Runs as many streams as there are rows together, each in another row at each step. */
async function isSameInCompany(
  { model, run }: ProbeParts,
  rows: number,
  alone: readonly (readonly ProbeStep[])[],
): Promise<boolean> {
  const states = new Array<State>(rows).fill(undefined);
  for (let step = 0; step < steps; step++) {
    const streams = Array.from({ length: rows }, (_, row) => (row + step) % rows);
    const inputs = streams.map((stream) => stepInputs(model, stream, step, states[stream]));
    const outputs = rowsOf(await run(stacked(inputs)), rows);
    if (outputs === undefined) return false;
    for (const [row, stream] of streams.entries()) {
      const own = outputs[row] as readonly Tensor[];
      states[stream] = model.split(own).state;
      const undisturbed = alone[stream]?.[step];
      if (undisturbed !== undefined && !areSame(own, undisturbed.outputs)) return false;
    }
  }
  return true;
}

function stepInputs(model: StreamModel, stream: number, step: number, state: State): readonly Tensor[] {
  const tensors = probeInputs(model.view, model.ownInputs, stream, step);
  return model.inputsFrom({ kind: 'tensors', tensors }, state);
}

function stacked(rows: readonly (readonly Tensor[])[]): readonly Tensor[] {
  const [first = []] = rows;
  return first.map((tensor, index) => ({
    ...tensor,
    shape: [rows.length, ...tensor.shape.slice(1)],
    data: Buffer.concat(rows.map((row) => (row[index] as Tensor).data)),
  }));
}

/** The outputs of each row; undefined: they are not one row each. */
function rowsOf(outputs: readonly Tensor[], rows: number): readonly (readonly Tensor[])[] | undefined {
  if (outputs.some(({ shape }) => shape[0] !== rows)) return undefined;
  const pieces = outputs.map((tensor) => rowPieces(tensor, rows));
  return Array.from({ length: rows }, (_, row) =>
    outputs.map((tensor, index) => ({
      ...tensor,
      shape: [1, ...tensor.shape.slice(1)],
      data: pieces[index]?.[row] as Uint8Array,
    })),
  );
}

function rowPieces({ datatype, shape, data }: Tensor, rows: number): readonly Uint8Array[] {
  if (datatype !== 'BYTES') {
    const rowBytes = data.length / rows;
    return Array.from({ length: rows }, (_, row) => data.subarray(row * rowBytes, (row + 1) * rowBytes));
  }
  const elements = elementCount(shape.slice(1));
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  let offset = 0;
  return Array.from({ length: rows }, () => {
    const start = offset;
    for (let element = 0; element < elements; element++) offset += 4 + view.getUint32(offset, true);
    return data.subarray(start, offset);
  });
}

function areSame(left: readonly Tensor[], right: readonly Tensor[]): boolean {
  return (
    left.length === right.length &&
    left.every((tensor, index) => {
      const other = right[index] as Tensor;
      return String(tensor.shape) === String(other.shape) && Buffer.compare(tensor.data, other.data) === 0;
    })
  );
}
