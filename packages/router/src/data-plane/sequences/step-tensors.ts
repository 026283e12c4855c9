/** The tensors that the server adds to a step of a sequence, and those that it removes from the answer. */
import { encodeBytesElements, type Tensor, type TensorSpec } from '@millrace/protocol';
import type { ControlInput, ImplicitState, Sequencing } from '../../model/sequencing.ts';
import type { SequenceStep } from '../infer.ts';

/** The state of a sequence between two steps, in the order of the model's states. */
export type SequenceState = readonly Tensor[];

export function initialStateOf({ states }: Sequencing): SequenceState {
  return states.map(({ spec, initialShape, initialData }) => stateTensor(spec, initialShape, initialData));
}

/** The states in an answer, as views. `outputs` are the answer's, at the positions that `positions` lists. */
export function stateOutputsOf(
  { states }: Sequencing,
  outputs: readonly Tensor[],
  positions: readonly number[],
): SequenceState {
  return states.map(({ spec, output }: ImplicitState) => {
    const tensor = outputs[positions.indexOf(output)] as Tensor;
    return stateTensor(spec, tensor.shape, tensor.data);
  });
}

export function stateBytesOf(state: SequenceState): number {
  let bytes = 0;
  for (const { data } of state) bytes += data.byteLength;
  return bytes;
}

function stateTensor({ name, datatype }: TensorSpec, shape: readonly number[], data: Uint8Array): Tensor {
  return { name, datatype, shape, data };
}

/** One for each control of the model, in its order. */
export function controlTensorsOf(
  { controls, engineView }: Sequencing,
  step: SequenceStep,
  isStart: boolean,
): readonly Tensor[] {
  const shape = engineView.isBatched ? [1, 1] : [1];
  return controls.map((control) => {
    const { name, datatype } = control.spec;
    return { name, datatype, shape, data: controlData(control, step, isStart) };
  });
}

function controlData(control: ControlInput, { id, isEnd }: SequenceStep, isStart: boolean): Uint8Array {
  switch (control.kind) {
    case 'start':
      return isStart ? control.trueData : control.falseData;
    case 'end':
      return isEnd ? control.trueData : control.falseData;
    case 'ready':
      // Every row of a batch is a step of some sequence: there are no empty rows among them.
      return control.trueData;
    case 'correlation-id':
      return typeof id === 'string' ? encodeBytesElements([Buffer.from(id)]) : correlationBytes(id, control.spec);
  }
}

function correlationBytes(id: bigint, { datatype }: TensorSpec): Uint8Array {
  if (datatype === 'UINT64' || datatype === 'INT64') return new Uint8Array(BigUint64Array.of(id).buffer);
  return new Uint8Array(Uint32Array.of(Number(id)).buffer);
}

const idMax: Readonly<Partial<Record<TensorSpec['datatype'], bigint>>> = {
  UINT64: 2n ** 64n - 1n,
  INT64: 2n ** 63n - 1n,
  UINT32: 2n ** 32n - 1n,
  INT32: 2n ** 31n - 1n,
};

/** Why the model cannot take this id; undefined: it can, or it takes none. */
export function idProblem({ controls }: Sequencing, id: bigint | string): string | undefined {
  const control = controls.find(({ kind }) => kind === 'correlation-id');
  if (control === undefined) return undefined;
  const max = idMax[control.spec.datatype];
  if (max === undefined) return typeof id === 'string' ? undefined : 'takes a string as correlation ID, not a number';
  if (typeof id === 'string') return `takes a number as correlation ID (${control.spec.datatype}), not a string`;
  return id <= max ? undefined : `takes correlation IDs up to ${max} (${control.spec.datatype}); choose a smaller one`;
}
