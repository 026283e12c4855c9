/** The model version that a stream is pinned to, as far as its steps need it. What every input needs of it is found out once. */
import type { StreamModelKind } from '@millrace/core';
import { InferenceError, type StreamPayload, type Tensor, type TensorSpec, takeByteSize } from '@millrace/protocol';
import type { ModelView, StreamStatePair } from '../model/model-view.ts';

/** How bytes become a tensor of the model's only input. */
interface RawForm {
  readonly name: string;
  readonly datatype: TensorSpec['datatype'];
  /** -1: free. */
  readonly shape: readonly number[];
  /** The last free axis; -1: none. */
  readonly freeAxis: number;
  readonly hasManyFree: boolean;
  /** Of everything but the free axis. */
  readonly rowBytes: number;
}

export class StreamModel {
  readonly view: ModelView;
  readonly kind: StreamModelKind;
  readonly isResumable: boolean;
  readonly #states: readonly StreamStatePair[];
  /** Those that a client sends: without the state. */
  readonly ownInputs: readonly TensorSpec[];
  readonly #outputNames: readonly string[];
  /** Zeros, made once. */
  #initial: readonly Tensor[] | undefined;
  #bytesInput: TensorSpec | undefined;
  #rawForm: RawForm | undefined;

  constructor(view: ModelView) {
    this.view = view;
    this.#states = view.streamStates ?? [];
    this.kind = view.isDecoupled === true ? 'decoupled' : this.#states.length > 0 ? 'stateful' : 'independent';
    this.isResumable = this.kind !== 'decoupled' || view.isResumable === true;
    this.ownInputs = view.inputs.filter(({ name }) => !this.#states.some(({ input }) => input === name));
    this.#outputNames = view.outputs
      .map(({ name }) => name)
      .filter((name) => !this.#states.some(({ output }) => output === name));
  }

  /** Whether the state of a stream of the other model can go on with this one. */
  hasStatesOf(other: StreamModel): boolean {
    if (this.kind !== other.kind || this.#states.length !== other.#states.length) return false;
    return this.#states.every(({ input, output }, index) => {
      const pair = other.#states[index];
      return pair?.input === input && pair.output === output;
    });
  }

  /** The inputs of a step. Throws an `InferenceError` for what the model does not take. */
  inputsFrom(payload: StreamPayload, state: readonly Tensor[] | undefined): readonly Tensor[] {
    const own = this.#tensorsFrom(payload);
    if (this.#states.length === 0) return own;
    const hidden = own.find(({ name }) => this.#states.some(({ input }) => input === name));
    if (hidden !== undefined) {
      throw new InferenceError(
        'invalid-request',
        `input ${hidden.name} holds the state of a stream of ${this.view.name}, which the server keeps; leave it out`,
      );
    }
    this.#initial ??= this.#initialState();
    return [...own, ...(state ?? this.#initial)];
  }

  /** Splits the outputs of a step into the answer, and the inputs that hold the state of the next step. */
  split(outputs: readonly Tensor[]): { readonly answer: readonly Tensor[]; readonly state: readonly Tensor[] } {
    if (this.#states.length === 0) return { answer: outputs, state: [] };
    const state: Tensor[] = [];
    for (const { input, output } of this.#states) {
      const tensor = outputs.find(({ name }) => name === output);
      if (tensor === undefined) throw new InferenceError('inference-failed', `the model gave no output ${output}`);
      state.push({ ...tensor, name: input });
    }
    return { answer: outputs.filter(({ name }) => this.#outputNames.includes(name)), state };
  }

  #tensorsFrom(payload: StreamPayload): readonly Tensor[] {
    switch (payload.kind) {
      case 'none':
        return [];
      case 'tensors':
        return payload.tensors;
      case 'text':
        return [this.#bytesTensor(this.#soleInput('text'), Buffer.from(payload.text))];
      case 'bytes': {
        this.#bytesInput ??= this.#soleInput('bytes');
        const input = this.#bytesInput;
        return [
          input.datatype === 'BYTES' ? this.#bytesTensor(input, payload.bytes) : this.#rawTensor(input, payload.bytes),
        ];
      }
    }
  }

  #soleInput(form: string): TensorSpec {
    const required = this.ownInputs.filter(({ isOptional }) => isOptional !== true);
    const [input] = required;
    if (input !== undefined && required.length === 1 && (form === 'bytes' || input.datatype === 'BYTES')) return input;
    const inputs = this.ownInputs.map(({ name, datatype }) => `${name} (${datatype})`).join(', ');
    throw new InferenceError(
      'invalid-request',
      `an input given as ${form} needs a model with one ${form === 'text' ? 'BYTES ' : ''}input, and ${this.view.name} has ${inputs}; send tensors`,
    );
  }

  #bytesTensor({ name, shape }: TensorSpec, bytes: Uint8Array): Tensor {
    const data = Buffer.allocUnsafe(4 + bytes.length);
    data.writeUInt32LE(bytes.length, 0);
    data.set(bytes, 4);
    return { name, datatype: 'BYTES', shape: shape.map(() => 1), data };
  }

  /** The one free size of the shape follows from the number of bytes. */
  #rawTensor(input: TensorSpec, data: Uint8Array): Tensor {
    this.#rawForm ??= rawFormOf(input, this.view.isBatched);
    const { name, datatype, shape, freeAxis, hasManyFree, rowBytes } = this.#rawForm;
    if (freeAxis === -1) {
      if (data.length === rowBytes) return { name, datatype, shape, data };
    } else if (!hasManyFree && rowBytes > 0 && data.length % rowBytes === 0) {
      const filled = shape.slice();
      filled[freeAxis] = data.length / rowBytes;
      return { name, datatype, shape: filled, data };
    }
    throw new InferenceError(
      'invalid-request',
      `input ${name} of ${this.view.name} has shape [${shape}] of ${datatype}, which ${data.length} bytes do not fill; send a tensor with its shape`,
    );
  }

  #initialState(): readonly Tensor[] {
    return this.#states.map(({ input }) => {
      const spec = this.view.inputs.find(({ name }) => name === input) as TensorSpec;
      const shape = spec.shape.map((size) => (size < 0 ? 1 : size));
      return {
        name: input,
        datatype: spec.datatype,
        shape,
        data: new Uint8Array(takeByteSize(spec.datatype, shape) ?? 0),
      };
    });
  }
}

function rawFormOf({ name, datatype, shape: given }: TensorSpec, isBatched: boolean): RawForm {
  const shape = given.map((size, axis) => (size >= 0 ? size : axis === 0 && isBatched ? 1 : -1));
  const filled = shape.map((size) => (size < 0 ? 1 : size));
  const freeAxis = shape.lastIndexOf(-1);
  return {
    name,
    datatype,
    shape,
    freeAxis,
    hasManyFree: shape.indexOf(-1) !== freeAxis,
    rowBytes: takeByteSize(datatype, filled) ?? 0,
  };
}
