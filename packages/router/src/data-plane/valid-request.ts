/**
 * The gate between edges and the queue: a `ValidInferRequest` can only be made by checking a request against its model,
 * so nothing behind it checks again and nothing malformed reaches a worker. Messages follow Triton's where it has one,
 * because its clients match on them.
 */
import { isUtf8 } from 'node:buffer';
import {
  BytesCursor,
  bytesElementsProblem,
  elementCount,
  InferenceError,
  shapeProblem,
  type Tensor,
  type TensorSpec,
  takeByteSize,
} from '@millrace/protocol';
import type { InferRequest } from './infer.ts';
import type { ServedModel } from './served-model.ts';

export class ValidInferRequest {
  readonly model: ServedModel;
  readonly id: string;
  /** In the model's order; an optional input that was not given is undefined. */
  readonly inputs: readonly (Tensor | undefined)[];
  /** Positions of the wanted outputs, in the order they were asked for. */
  readonly outputs: readonly number[];
  readonly rows: number;
  readonly bytes: number;
  /** Requests with equal groups may share a batch. */
  readonly group: string;
  readonly timeoutMs: number | undefined;

  private constructor(
    model: ServedModel,
    request: InferRequest,
    inputs: readonly (Tensor | undefined)[],
    outputs: readonly number[],
    rows: number,
    bytes: number,
  ) {
    this.model = model;
    this.id = request.id;
    this.inputs = inputs;
    this.outputs = outputs;
    this.rows = rows;
    this.bytes = bytes;
    this.group = model.isUniform ? '' : groupFrom(model, inputs);
    this.timeoutMs = request.timeoutMs;
  }

  /** Throws `invalid-request` with the first thing that is wrong. */
  static from(request: InferRequest, model: ServedModel): ValidInferRequest {
    const refuse = (message: string): never => {
      throw new InferenceError('invalid-request', `[request id: ${request.id || '<id_unknown>'}] ${message}`);
    };
    const inputs = inputsInOrder(request, model, refuse);
    let rows = 1;
    let bytes = 0;
    let rowsFrom: string | undefined;
    for (let index = 0; index < inputs.length; index++) {
      const tensor = inputs[index];
      const spec = model.view.inputs[index];
      if (tensor === undefined || spec === undefined) continue;
      checkTensor(tensor, spec, model, refuse);
      bytes += tensor.data.byteLength;
      if (!model.view.isBatched) continue;
      const tensorRows = tensor.shape[0] as number;
      if (rowsFrom !== undefined && tensorRows !== rows) {
        refuse(`input '${tensor.name}' batch size does not match other inputs for '${model.view.name}'`);
      }
      rowsFrom = tensor.name;
      rows = tensorRows;
    }
    if (rows < 1) refuse(`inference request batch-size must be >= 1 for '${model.view.name}'`);
    if (rows > model.view.rowsMax) {
      refuse(`inference request batch-size must be <= ${model.view.rowsMax} for '${model.view.name}'`);
    }
    return new ValidInferRequest(model, request, inputs, outputsFrom(request, model, refuse), rows, bytes);
  }
}

type Refuse = (message: string) => never;

function inputsInOrder(request: InferRequest, model: ServedModel, refuse: Refuse): (Tensor | undefined)[] {
  const { view } = model;
  const inputs = new Array<Tensor | undefined>(view.inputs.length).fill(undefined);
  let required = 0;
  for (const tensor of request.inputs) {
    const index = model.inputIndex.get(tensor.name);
    if (index === undefined) {
      const known = view.inputs.map((input) => `'${input.name}'`).join(', ');
      refuse(`unexpected inference input '${tensor.name}' for model '${view.name}'; its inputs are ${known}`);
    } else {
      if (inputs[index] !== undefined) refuse(`input '${tensor.name}' already exists in request`);
      inputs[index] = tensor;
      if (view.inputs[index]?.isOptional !== true) required += 1;
    }
  }
  if (required < model.requiredInputs) {
    const missing = view.inputs.filter((input, index) => input.isOptional !== true && inputs[index] === undefined);
    refuse(
      `expected ${model.requiredInputs} inputs but got ${request.inputs.length} inputs for model '${view.name}'. ` +
        `Got input(s) [${quoted(request.inputs)}], but missing required input(s) [${quoted(missing)}]. ` +
        'Please provide all required input(s).',
    );
  }
  return inputs;
}

function quoted(named: readonly { readonly name: string }[]): string {
  return named.map(({ name }) => `'${name}'`).join(',');
}

function checkTensor(tensor: Tensor, spec: TensorSpec, model: ServedModel, refuse: Refuse): void {
  const { name } = model.view;
  if (tensor.datatype !== spec.datatype) {
    refuse(
      `inference input '${tensor.name}' data-type is '${tensor.datatype}', but model '${name}' expects '${spec.datatype}'`,
    );
  }
  const problem = shapeProblem(tensor.shape);
  if (problem !== undefined) refuse(`input '${tensor.name}' for model '${name}': ${problem}`);
  if (!shapeFits(tensor.shape, spec.shape)) {
    refuse(
      `unexpected shape for input '${tensor.name}' for model '${name}'. ` +
        `Expected [${spec.shape.join(',')}], got [${tensor.shape.join(',')}]. `,
    );
  }
  if (tensor.datatype === 'BYTES') checkBytesTensor(tensor, name, refuse);
  else {
    const expected = takeByteSize(tensor.datatype, tensor.shape);
    if (expected !== tensor.data.byteLength) {
      refuse(
        `input byte size mismatch for input '${tensor.name}' for model '${name}'. ` +
          `Expected ${expected}, got ${tensor.data.byteLength}`,
      );
    }
  }
}

/** The engine takes text, not bytes: an element that is not UTF-8 is refused here rather than changed there. */
function checkBytesTensor(tensor: Tensor, model: string, refuse: Refuse): void {
  const problem = bytesElementsProblem(tensor.data, elementCount(tensor.shape));
  if (problem !== undefined) refuse(`input '${tensor.name}' for model '${model}': ${problem}`);
  const cursor = new BytesCursor(tensor.data);
  for (let element = 0; cursor.next(); element++) {
    if (!isUtf8(cursor.view())) {
      refuse(`element ${element} of input '${tensor.name}' for model '${model}' is not valid UTF-8`);
    }
  }
}

function shapeFits(shape: readonly number[], expected: readonly number[]): boolean {
  if (shape.length !== expected.length) return false;
  for (let axis = 0; axis < shape.length; axis++) {
    const wanted = expected[axis] as number;
    if (wanted >= 0 && wanted !== shape[axis]) return false;
  }
  return true;
}

function outputsFrom(request: InferRequest, model: ServedModel, refuse: Refuse): readonly number[] {
  if (request.outputs.length === 0) return model.allOutputs;
  const outputs: number[] = [];
  for (const name of request.outputs) {
    const index = model.outputIndex.get(name);
    if (index === undefined) {
      const known = model.view.outputs.map((output) => `'${output.name}'`).join(', ');
      refuse(`unexpected inference output '${name}' for model '${model.view.name}'; its outputs are ${known}`);
    } else {
      if (outputs.includes(index)) refuse(`output '${name}' already exists in request`);
      outputs.push(index);
    }
  }
  return outputs;
}

function groupFrom(model: ServedModel, inputs: readonly (Tensor | undefined)[]): string {
  const firstRowAxis = model.view.isBatched ? 1 : 0;
  let group = '';
  for (const tensor of inputs) {
    group += tensor === undefined ? '-;' : `${tensor.shape.slice(firstRowAxis).join(',')};`;
  }
  return group;
}
