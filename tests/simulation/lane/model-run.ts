/** What a run of a simulated model reads and gives. */
import type { BatchTensor, DispatchMessage, LoadSpec, Region } from '@millrace/protocol';
import { hopValue, int32Bytes, int32Values, questionOf, rowsPerQuestion } from './rows.ts';

export function batchInput(inputs: readonly BatchTensor[], spec: LoadSpec, name: string): BatchTensor {
  const index = spec.inputs.findIndex((input) => input.name === name);
  const tensor = inputs.find((input) => input.index === index);
  if (tensor === undefined) throw new Error(`a batch of ${spec.name} has no input ${name}`);
  return tensor;
}

/** The first value of each row of `x`. */
export function rowValues(inputs: readonly BatchTensor[], spec: LoadSpec): readonly number[] {
  const { shape, data } = batchInput(inputs, spec, 'x');
  const width = shape[1] ?? 1;
  return int32Values(data).filter((_, index) => index % width === 0);
}

/** Each once. */
export function questionsIn({ inputs }: DispatchMessage, spec: LoadSpec): readonly number[] {
  return [...new Set(rowValues(inputs, spec).map(questionOf))];
}

/** The outputs of a run, by their names; the rows of a batch side by side. */
export function outputsOf(
  inputs: readonly BatchTensor[],
  spec: LoadSpec,
  stamp: number,
  hops = 1,
): ReadonlyMap<string, readonly number[]> {
  const rows = rowValues(inputs, spec);
  const outputs = new Map<string, readonly number[]>([
    ['y', rows.map((value) => value + hops * hopValue)],
    ['by', rows.map(() => stamp)],
  ]);
  if (spec.outputs.some(({ name }) => name === 'seq')) outputs.set('seq', nextStates(inputs, spec, rows));
  if (spec.outputs.some(({ name }) => name === 'next')) {
    const states = int32Values(batchInput(inputs, spec, 'state').data);
    const next = rows.map((value, row) => nextStreamState(states[row] as number, value));
    outputs.set('sum', next).set('next', next);
  }
  return outputs;
}

/** The state of a durable stream after a row, which it also gives as an output. */
export function nextStreamState(state: number, value: number): number {
  return (Math.imul(state, 31) + value) & 0x7fffffff;
}

/** Writes the wanted outputs into memory that goes to the router. */
export function writeOutputs(
  outputs: ReadonlyMap<string, readonly number[]>,
  wanted: readonly number[],
  spec: LoadSpec,
  region: Region,
): readonly BatchTensor[] {
  let offset = 0;
  return wanted.map((index) => {
    const output = spec.outputs[index];
    const values = outputs.get(output?.name ?? '') ?? [];
    const bytes = int32Bytes(values);
    region.bytes.set(bytes, offset);
    const data = region.bytes.subarray(offset, offset + bytes.length);
    offset += bytes.length;
    return { index, shape: output?.shape.length === 1 ? [values.length] : [values.length, 1], data };
  });
}

/** A sequence is known by the question that started it, and counts its steps. */
function nextStates(inputs: readonly BatchTensor[], spec: LoadSpec, rows: readonly number[]): readonly number[] {
  const starts = int32Values(batchInput(inputs, spec, 'START').data);
  const states = int32Values(batchInput(inputs, spec, 'STATE').data);
  return rows.map((value, row) =>
    starts[row] === 1 ? sequenceState(questionOf(value), 1) : (states[row] as number) + 1,
  );
}

/** The state of a sequence after so many steps. */
export function sequenceState(startQuestion: number, steps: number): number {
  return startQuestion * rowsPerQuestion + steps;
}
