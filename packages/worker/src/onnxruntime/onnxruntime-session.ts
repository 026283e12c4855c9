import {
  callerShapeFrom,
  datatypes,
  elementCount,
  InferenceError,
  type LoadSpec,
  type TensorSpec,
} from '@millrace/protocol';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { inPlaceBytesMin, ProcessSpoiled, type RunRequest, type RunResult, type Session } from '../engine.ts';
import { cudaContextFailure } from './gpu-failure.ts';
import type { ModelSource } from './model-source.ts';
import { canBeWrittenInPlace, numericTensor, onnxTensorFrom } from './onnx-tensor.ts';
import { mayBeChanged, textBytes, writeTexts } from './text-tensor.ts';

type Feeds = Record<string, Tensor>;

/** The expected shapes of the outputs before the run, as the engine has them. */
interface Expected {
  /** The expectation depends on these rows and outputs. */
  readonly rows: number | undefined;
  readonly outputs: readonly number[];
  readonly shapes: readonly (readonly number[])[];
  readonly sizes: readonly number[];
}

/** ONNX Runtime's message for an output that has another shape than the memory given for it. */
const refusedShape =
  /The output OrtValue provided for output|Invalid rank for output|Got invalid dimensions for output|OrtValue shape verification failed|Tensor size mismatch/;

/**
 * One loaded model. Runs on the calling thread: when `run` of the engine returns, its work is done.
 *
 * The engine writes outputs of known size into the memory of the answer. There are exceptions: where an output is an input, a
 * constant, or a value passed through a branch without a copy, ONNX Runtime leaves that memory unwritten, and even returns it as
 * the result; where the real shape is not the declared one, it refuses the memory. Then the run is repeated without that memory,
 * and from then on the output is copied from the engine's own result.
 */
export class OnnxruntimeSession implements Session {
  readonly #session: InferenceSession;
  readonly #spec: LoadSpec;
  /** Used where a batch leaves the input out. */
  readonly #defaults: ReadonlyMap<string, Tensor>;
  readonly #hasInvalidText: boolean;
  /** By the position among the outputs: whether it is copied, never written in place. */
  readonly #isCopied: boolean[];
  #lastExpected: Expected | undefined;

  constructor(
    session: InferenceSession,
    spec: LoadSpec,
    { defaults, hasInvalidText }: Pick<ModelSource, 'defaults' | 'hasInvalidText'>,
  ) {
    this.#session = session;
    this.#spec = spec;
    this.#defaults = defaults;
    this.#hasInvalidText = hasInvalidText;
    this.#isCopied = spec.outputs.map(
      (output) => !canBeWrittenInPlace(output) || session.inputNames.includes(output.name),
    );
  }

  async run(request: RunRequest): Promise<RunResult> {
    const { memory, outputs } = request;
    if (outputs.length === 0) throw new InferenceError('inference-failed', 'no output was requested');
    const feeds = this.#feedsFrom(request);
    const expected = this.#takeExpected(request);
    try {
      if (expected === undefined) return await this.#runThenCopy(feeds, request);
      const parts = memory.layOut(expected.sizes);
      // The tensors that it returns are copies, which are not needed.
      await this.#session.run(feeds, this.#fetchesFor(outputs, expected.shapes, parts));
      if (this.#areWritten(request)) return this.#resultFrom(outputs, expected.shapes, parts);
    } catch (error) {
      if (expected === undefined || !isRefusedShape(error)) throw inferenceErrorFrom(error, this.#spec);
    }
    try {
      return await this.#runThenCopy(feeds, request, expected);
    } catch (error) {
      throw inferenceErrorFrom(error, this.#spec);
    }
  }

  unload(): Promise<void> {
    return this.#session.release();
  }

  #feedsFrom(request: RunRequest): Feeds {
    const feeds: Feeds = {};
    if (this.#defaults.size > 0) for (const [name, tensor] of this.#defaults) feeds[name] = tensor;
    for (const input of request.inputs) {
      const spec = this.#mustFind(this.#spec.inputs, input.index, 'input');
      feeds[spec.name] = onnxTensorFrom(spec, input);
    }
    return feeds;
  }

  /** The expected outputs; undefined when one of them has to be copied, or its size is known only after the run. */
  #takeExpected({ inputs, outputs }: RunRequest): Expected | undefined {
    const rows = this.#rowsOf(inputs);
    const last = this.#lastExpected;
    // Most batches are like the one before.
    if (last !== undefined && last.rows === rows && isSameList(last.outputs, outputs)) return last;
    const shapes: number[][] = [];
    const sizes: number[] = [];
    for (const index of outputs) {
      const spec = this.#mustFind(this.#spec.outputs, index, 'output');
      if (this.#isCopied[index] === true) return undefined;
      const shape = [...(spec.engineShape ?? spec.shape)];
      if (rows !== undefined) shape[0] = rows;
      if (shape.includes(-1)) return undefined;
      const bytes = elementCount(shape) * (datatypes[spec.datatype].bytes ?? 0);
      if (bytes < inPlaceBytesMin) return undefined;
      shapes.push(shape);
      sizes.push(bytes);
    }
    this.#lastExpected = { rows, outputs, shapes, sizes };
    return this.#lastExpected;
  }

  /**
   * The number of rows of a batch: -1 where inputs have unequal first sizes, so that the graph decides how many come out; undefined for
   * a model without batches. An input with a default value applies to the whole run and has no rows.
   */
  #rowsOf(inputs: RunRequest['inputs']): number | undefined {
    if (!this.#spec.isBatched) return undefined;
    let rows: number | undefined;
    for (const { index, shape } of inputs) {
      if (this.#spec.inputs[index]?.hasDefault === true) continue;
      if (rows === undefined) rows = shape[0];
      else if (shape[0] !== rows) return -1;
    }
    return rows;
  }

  /** Tensors over the memory of the answer, for the engine to write to. */
  #fetchesFor(
    outputs: readonly number[],
    shapes: Expected['shapes'],
    parts: readonly Uint8Array[],
  ): Record<string, Tensor> {
    const fetches: Record<string, Tensor> = {};
    for (let part = 0; part < parts.length; part++) {
      const spec = this.#spec.outputs[outputs[part] as number] as TensorSpec;
      fetches[spec.name] = numericTensor(spec, parts[part] as Uint8Array, shapes[part] as readonly number[]);
    }
    return fetches;
  }

  /** Outputs that the engine did not write are copied from now on. */
  #areWritten({ memory, outputs }: RunRequest): boolean {
    let areWritten = true;
    for (let part = 0; part < outputs.length; part++) {
      if (memory.isWritten(part)) continue;
      areWritten = false;
      this.#copyFromNowOn(outputs[part] as number);
    }
    return areWritten;
  }

  /** `expected` is given after a run in place that failed. */
  async #runThenCopy(feeds: Feeds, { memory, outputs }: RunRequest, expected?: Expected): Promise<RunResult> {
    const names = outputs.map((index) => this.#mustFind(this.#spec.outputs, index, 'output').name);
    const tensors = await this.#session.run(feeds, names);
    const results = names.map((name) => tensors[name] as Tensor);
    const shapes = results.map(({ dims }) => dims);
    if (this.#hasInvalidText) mustBeUnchanged(names, results);
    if (expected !== undefined) this.#learn(outputs, expected.shapes, shapes);
    const parts = memory.layOut(
      results.map(({ data }) => (ArrayBuffer.isView(data) ? data.byteLength : textBytes(data as string[]))),
    );
    for (const [part, { data }] of results.entries()) {
      if (!ArrayBuffer.isView(data)) memory.fill(part, (target) => writeTexts(data as string[], target));
      else memory.write(part, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    }
    return this.#resultFrom(outputs, shapes, parts);
  }

  /** An output whose shape was not as expected is copied from now on; if there is none, all are, so that not every batch is run twice. */
  #learn(outputs: readonly number[], expected: Expected['shapes'], actual: Expected['shapes']): void {
    if (outputs.some((index) => this.#isCopied[index] === true)) return;
    const isAsExpected = (part: number): boolean => String(expected[part]) === String(actual[part]);
    const areAllAsExpected = outputs.every((_, part) => isAsExpected(part));
    for (const [part, index] of outputs.entries()) {
      if (areAllAsExpected || !isAsExpected(part)) this.#copyFromNowOn(index);
    }
  }

  #copyFromNowOn(output: number): void {
    this.#isCopied[output] = true;
    this.#lastExpected = undefined;
  }

  #resultFrom(
    outputs: readonly number[],
    shapes: readonly (readonly number[])[],
    parts: readonly Uint8Array[],
  ): RunResult {
    return {
      outputs: outputs.map((index, part) => ({
        index,
        shape: callerShapeFrom(this.#spec.outputs[index] as TensorSpec, shapes[part] as readonly number[]),
        data: parts[part] as Uint8Array,
      })),
    };
  }

  #mustFind(specs: readonly TensorSpec[], index: number, role: string): TensorSpec {
    const spec = specs[index];
    if (spec !== undefined) return spec;
    throw new InferenceError('inference-failed', `model "${this.#spec.name}" has no ${role} number ${index}`);
  }
}

/** ONNX Runtime in Node changes bytes that are not UTF-8. Inputs are checked before, so only texts of the model itself can be such. */
function mustBeUnchanged(names: readonly string[], results: readonly Tensor[]): void {
  for (const [position, { data }] of results.entries()) {
    if (ArrayBuffer.isView(data)) continue;
    const element = (data as string[]).findIndex(mayBeChanged);
    if (element < 0) continue;
    throw new InferenceError(
      'unsupported',
      `element ${element} of output "${names[position]}" is not valid UTF-8: export the model with texts in UTF-8`,
    );
  }
}

function isSameList(list: readonly number[], other: readonly number[]): boolean {
  if (list.length !== other.length) return false;
  for (let at = 0; at < list.length; at++) if (list[at] !== other[at]) return false;
  return true;
}

function isRefusedShape(error: unknown): boolean {
  return error instanceof Error && refusedShape.test(error.message);
}

function inferenceErrorFrom(error: unknown, { gpu }: LoadSpec): InferenceError {
  if (error instanceof InferenceError) return error;
  const message = error instanceof Error ? error.message.trim() : String(error);
  const lost = gpu === undefined ? undefined : cudaContextFailure(message);
  if (lost !== undefined) return new ProcessSpoiled(`GPU ${gpu?.id}: ${lost}`, { cause: error });
  return new InferenceError('inference-failed', message, { cause: error });
}
