/**
 * The gate between edges and the queue: a `ValidInferRequest` can only be made by checking a request against its model,
 * so later code does not check again and nothing malformed reaches a worker. Messages follow Triton's where it has one,
 * because its clients match on them.
 */
import {
  InferenceError,
  quote,
  quotedCharactersMax,
  shortened,
  type Tensor,
  type TensorSpec,
  takeByteSize,
} from '@millrace/protocol';
import { type BatchShaping, sizeClassOf } from '../model/batch-shaping.ts';
import type { ModelView } from '../model/model-view.ts';
import { generatedProblem } from './batch-shaping/generated-inputs.ts';
import { bytesCheckSlices, hasManyTexts, isLongTexts } from './bytes-check.ts';
import { emptyInputProblem } from './empty-inputs.ts';
import type { InferRequest, InferTarget, Origin, Parameters, SequenceStep } from './infer.ts';
import { inputHeadProblem, namesIn, shapeFits, unknownInputProblem, withoutListOfOne } from './input-head.ts';
import { withSamplingParameters } from './sampling-parameters.ts';
import type { ServedModel } from './served-model.ts';
import { copiesOf } from './sliced-work/copy-slices.ts';
import type { Slices } from './sliced-work/sliced-work.ts';

export class ValidInferRequest {
  readonly model: ServedModel;
  readonly target: InferTarget;
  readonly origin: Origin;
  /** In the model's order; an optional input that was not given is undefined. */
  readonly inputs: readonly (Tensor | undefined)[];
  /** Positions of the wanted outputs, in the order they were asked for. */
  readonly outputs: readonly number[];
  /** As the engine gets them; 0 only for a request that runs alone. */
  readonly rows: number;
  readonly bytes: number;
  /** Requests with equal groups may share a batch. */
  readonly group: string;
  /** It must not share a batch with any other request. */
  readonly isAlone: boolean;

  private constructor(
    model: ServedModel,
    target: InferTarget,
    origin: Origin,
    inputs: readonly (Tensor | undefined)[],
    outputs: readonly number[],
    rows: number,
    bytes: number,
    isAlone: boolean,
  ) {
    this.model = model;
    this.target = target;
    this.origin = origin;
    this.inputs = inputs;
    this.outputs = outputs;
    this.rows = rows;
    this.bytes = bytes;
    this.isAlone = isAlone || !model.sharesRuns;
    this.group = model.isUniform ? '' : groupFrom(model, inputs);
  }

  get id(): string {
    return this.target.id;
  }

  get parameters(): Parameters {
    return this.target.parameters;
  }

  get sequence(): SequenceStep | undefined {
    return this.target.sequence;
  }

  get caller(): string {
    return this.origin.caller;
  }

  /** It has more rows than a batch may have, and is run in several parts. */
  get isSplit(): boolean {
    return this.rows > this.model.view.rowsMax && !this.isAlone;
  }

  /**
   * The same request, to be run for callers other than its own: without the caller's deadline, and with copied inputs, because
   * the caller's memory may be reused once it has gone away. The copy is complete when the slices are done.
   */
  detached(): { readonly request: ValidInferRequest; readonly slices: Slices } {
    const origin = { ...this.origin, deadlineAt: Number.POSITIVE_INFINITY };
    const { tensors, slices } = copiesOf(this.inputs.filter((tensor) => tensor !== undefined));
    let position = 0;
    const inputs = this.inputs.map((tensor) => tensor && tensors[position++]);
    const { model, target, outputs, rows, bytes, isAlone } = this;
    return { request: new ValidInferRequest(model, target, origin, inputs, outputs, rows, bytes, isAlone), slices };
  }

  /**
   * Throws `invalid-request` with the first problem. `areTextsChecked`: the long BYTES tensors of the request were checked
   * before, in slices.
   */
  static from(given: InferRequest, model: ServedModel, areTextsChecked = false): ValidInferRequest {
    const { view } = model;
    const request = view.isGenerator === true ? forGenerator(given) : given;
    let inputs = inputsInOrder(request, model);
    let rows = 1;
    let bytes = 0;
    let areRowsKnown = false;
    let isAlone = request.target.isAlone === true;
    let hasEmpty = false;
    for (let index = 0; index < inputs.length; index++) {
      let tensor = inputs[index];
      if (tensor === undefined) continue;
      if (!isPlainlyRight(tensor, model, index)) {
        const unchecked = tensor;
        tensor = checkedTensor(request, unchecked, model, index, areTextsChecked);
        if (tensor !== unchecked) inputs = inputs.with(index, tensor);
      }
      bytes += tensor.data.length;
      // That rows are independent is proven for sizes of at least 1.
      if (tensor.data.length === 0) isAlone = hasEmpty = true;
      // A value that overrides one in the graph applies to the whole run.
      const isOverride = view.inputs[index]?.hasDefault === true;
      isAlone ||= isOverride;
      if (!view.isBatched || isOverride) continue;
      const tensorRows = tensor.shape[0] as number;
      if (!areRowsKnown) rows = tensorRows;
      else if (tensorRows !== rows) {
        if (!model.answersAnyRows) {
          throw refusal(
            request,
            `input ${quote(tensor.name)} batch size does not match other inputs for '${view.name}'`,
          );
        }
        isAlone = true;
      }
      areRowsKnown = true;
    }
    const problem = hasEmpty ? emptyInputProblem(inputs, view) : undefined;
    if (problem !== undefined) throw refusal(request, problem);
    // A request with more rows than a batch may have is split before it runs.
    if (rows <= view.rowsMax) isAlone ||= inputs.some((tensor) => tensor !== undefined && hasManyTexts(tensor));
    if (rows < 1 || rows > view.rowsMax) {
      if (!model.answersAnyRows) throw rowsRefusal(request, view, rows);
      // Nothing to split, answers that must keep their order, or more bytes than the queue accepts.
      if (rows < 1 || model.policy.isOrdered || bytes > model.policy.queueBytesMax) isAlone = true;
    }
    // The parts of a request that is split have few rows.
    if (model.shaping !== undefined && (isAlone || rows <= view.rowsMax)) {
      const excess = generatedProblem(inputs, model.shaping, view.name);
      if (excess !== undefined) throw refusal(request, excess, 'request-too-large');
    }
    const { target, origin } = request;
    return new ValidInferRequest(model, target, origin, inputs, outputsFrom(request, model), rows, bytes, isAlone);
  }

  /** A valid request with the tensors that the server adds to it, for the same model as its workers load it. */
  static extended(request: ValidInferRequest, { model, inputs, outputs }: Extension): ValidInferRequest {
    let bytes = 0;
    for (const input of inputs) bytes += input?.data.length ?? 0;
    // The queue timeout applied to the wait for a slot, which is over.
    const origin = { ...request.origin, queueTimeoutMs: Number.POSITIVE_INFINITY };
    return new ValidInferRequest(model, request.target, origin, inputs, outputs, request.rows, bytes, request.isAlone);
  }

  /** Some rows of a valid request. */
  static part(request: ValidInferRequest, inputs: readonly (Tensor | undefined)[], rows: number): ValidInferRequest {
    const { model, target, origin, outputs } = request;
    let bytes = 0;
    for (const input of inputs) bytes += input?.data.length ?? 0;
    const hasTexts = inputs.some((tensor) => tensor !== undefined && hasManyTexts(tensor));
    const isAlone = hasTexts || rows > model.view.rowsMax;
    return new ValidInferRequest(model, target, origin, inputs, outputs, rows, bytes, isAlone);
  }
}

export interface Extension {
  readonly model: ServedModel;
  /** In the order of `model`'s inputs. */
  readonly inputs: readonly (Tensor | undefined)[];
  readonly outputs: readonly number[];
}

function forGenerator(request: InferRequest): InferRequest {
  const inputs = withSamplingParameters(request.inputs, Object.fromEntries(request.target.parameters));
  return inputs === request.inputs ? request : { ...request, inputs };
}

function refusal(
  request: InferRequest,
  message: string,
  code: 'invalid-request' | 'request-too-large' = 'invalid-request',
): InferenceError {
  return new InferenceError(
    code,
    `[request id: ${shortened(request.target.id, quotedCharactersMax) || '<id_unknown>'}] ${message}`,
  );
}

function rowsRefusal(request: InferRequest, { name, rowsMax }: ModelView, rows: number): InferenceError {
  const bound = rows < 1 ? '>= 1' : `<= ${rowsMax}`;
  return refusal(request, `inference request batch-size must be ${bound} for '${name}'`);
}

function inputsInOrder(request: InferRequest, model: ServedModel): readonly (Tensor | undefined)[] {
  const { view } = model;
  const first = request.inputs[0];
  // By far the most common request: one input, of the right name.
  if (view.inputs.length === 1 && request.inputs.length === 1 && first?.name === view.inputs[0]?.name) {
    return request.inputs;
  }
  const inputs = new Array<Tensor | undefined>(view.inputs.length).fill(undefined);
  let required = 0;
  for (const tensor of request.inputs) {
    const index = model.inputIndex.get(tensor.name);
    if (index === undefined) {
      throw refusal(request, unknownInputProblem(tensor.name, view));
    }
    if (inputs[index] !== undefined) throw refusal(request, `input ${quote(tensor.name)} already exists in request`);
    inputs[index] = tensor;
    if (view.inputs[index]?.isOptional !== true) required += 1;
  }
  if (required < model.requiredInputs) {
    const missing = view.inputs.filter((input, index) => input.isOptional !== true && inputs[index] === undefined);
    throw refusal(
      request,
      `expected ${model.requiredInputs} inputs but got ${required} inputs for model '${view.name}'${required < request.inputs.length ? ', not counting optional ones' : ''}. ` +
        `Got input(s) [${namesIn(request.inputs, ',')}], but missing required input(s) [${namesIn(missing, ',')}]. ` +
        'Please provide all required input(s).',
    );
  }
  return inputs;
}

/** A fast check for inputs whose rows have equal sizes; an input that fails it gets the full check. */
function isPlainlyRight(tensor: Tensor, model: ServedModel, index: number): boolean {
  const { datatype, shape } = model.view.inputs[index] as TensorSpec;
  const rowBytes = model.inputRowBytes[index];
  if (rowBytes === undefined || tensor.datatype !== datatype || !shapeFits(tensor.shape, shape)) return false;
  const rows = model.view.isBatched ? (tensor.shape[0] as number) : 1;
  // Equal to a byte length, so it is a non-negative integer, unless rows are empty.
  return rowBytes > 0 && rows * rowBytes === tensor.data.length && Number.isInteger(rows);
}

/** The tensor in the shape that the model takes; throws when it does not fit the input. */
function checkedTensor(
  request: InferRequest,
  given: Tensor,
  served: ServedModel,
  index: number,
  areTextsChecked: boolean,
): Tensor {
  const { model } = request.target;
  const spec = served.view.inputs[index] as TensorSpec;
  const tensor = withoutListOfOne(given, spec, served.view.isBatched);
  const problem = inputHeadProblem(tensor, spec, model);
  if (problem !== undefined) throw refusal(request, problem);
  if (tensor.datatype === 'BYTES') {
    if (!areTextsChecked || !isLongTexts(tensor)) checkBytesTensor(request, tensor, served.takesTextOnly);
    return tensor;
  }
  const expected = takeByteSize(tensor.datatype, tensor.shape);
  if (expected !== tensor.data.byteLength) {
    const mismatch = `input byte size mismatch for input ${quote(tensor.name)} for model ${quote(model)}`;
    throw refusal(request, `${mismatch}. Expected ${expected}, got ${tensor.data.byteLength}`);
  }
  return tensor;
}

function checkBytesTensor(request: InferRequest, tensor: Tensor, mustBeText: boolean): void {
  const slices = bytesCheckSlices(tensor, request.target.model, mustBeText);
  let step = slices.next();
  while (step.done !== true) step = slices.next();
  if (step.value !== undefined) throw refusal(request, step.value);
}

/** Whether its texts are checked in slices. */
export function hasLongTexts({ inputs }: InferRequest): boolean {
  return inputs.some(isLongTexts);
}

/** Checks the long BYTES tensors of a request, so that `from` need not. A problem is thrown by the last slice. */
export function* longTextSlices(request: InferRequest, { takesTextOnly }: ServedModel): Generator<void, void> {
  for (const tensor of request.inputs) {
    if (!isLongTexts(tensor)) continue;
    const problem = yield* bytesCheckSlices(tensor, request.target.model, takesTextOnly);
    if (problem !== undefined) throw refusal(request, problem);
  }
}

function outputsFrom(request: InferRequest, model: ServedModel): readonly number[] {
  if (request.target.outputs.length === 0) return model.allOutputs;
  const outputs: number[] = [];
  for (const name of request.target.outputs) {
    const index = model.outputIndex.get(name);
    if (index === undefined) {
      const unexpected = `unexpected inference output ${quote(name)} for model ${quote(model.view.name)}`;
      throw refusal(request, `${unexpected}; its outputs are ${namesIn(model.view.outputs)}`);
    }
    if (outputs.includes(index)) throw refusal(request, `output ${quote(name)} already exists in request`);
    outputs.push(index);
  }
  return outputs;
}

function rowGroupOf({ shape }: Tensor, firstRowAxis: number, shaping: BatchShaping | undefined, index: number): string {
  const kind = shaping?.inputs[index]?.kind ?? 'equal';
  if (kind === 'ragged') return '~';
  // Most rows have one axis: without a list of it.
  if (kind === 'equal' && shape.length === firstRowAxis + 1) return String(shape[firstRowAxis]);
  const row = shape.slice(firstRowAxis);
  if (shaping === undefined || kind === 'equal') return row.join(',');
  return row.map((size) => sizeClassOf(size, shaping.padRatioMax)).join(',');
}

function groupFrom(model: ServedModel, inputs: readonly (Tensor | undefined)[]): string {
  const firstRowAxis = model.view.isBatched ? 1 : 0;
  let group = '';
  for (let index = 0; index < inputs.length; index++) {
    const tensor = inputs[index];
    group += tensor === undefined ? '-;' : `${rowGroupOf(tensor, firstRowAxis, model.shaping, index)};`;
  }
  return group;
}
