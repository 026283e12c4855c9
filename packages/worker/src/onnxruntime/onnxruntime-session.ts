import { InferenceError, type LoadSpec, type TensorSpec } from '@millrace/protocol';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { ProcessSpoiled, type RunRequest, type RunResult, type Session } from '../engine.ts';
import { type Expected, ExpectedOutputs, isRefusedShape } from './expected-outputs.ts';
import { cudaContextFailure } from './gpu-failure.ts';
import type { ModelSource } from './model-source.ts';
import { mustBeExact, mustFindTensor, numericTensor, onnxTensorFrom } from './onnx-tensor.ts';
import { mayBeChanged, textBytes, writeTexts } from './text-tensor.ts';

type Feeds = Record<string, Tensor>;

/**
 * One loaded model, run by the engine's binding for Node, which passes texts and reaches GPUs. Runs on the calling thread: when `run` of
 * the engine returns, its work is done.
 */
export class OnnxruntimeSession implements Session {
  readonly #session: InferenceSession;
  readonly #spec: LoadSpec;
  /** Used where a batch leaves the input out. */
  readonly #defaults: ReadonlyMap<string, Tensor>;
  readonly #hasInvalidText: boolean;
  readonly #expected: ExpectedOutputs;

  constructor(
    session: InferenceSession,
    spec: LoadSpec,
    { defaults, hasInvalidText }: Pick<ModelSource, 'defaults' | 'hasInvalidText'>,
  ) {
    this.#session = session;
    this.#spec = spec;
    this.#defaults = defaults;
    this.#hasInvalidText = hasInvalidText;
    this.#expected = new ExpectedOutputs(spec, session.inputNames);
  }

  async run(request: RunRequest): Promise<RunResult> {
    const { memory, outputs } = request;
    if (outputs.length === 0) throw new InferenceError('inference-failed', 'no output was requested');
    const feeds = this.#feedsFrom(request);
    const expected = this.#expected.take(request);
    try {
      if (expected === undefined) return await this.#runThenCopy(feeds, request);
      const parts = memory.layOut(expected.sizes);
      // The tensors that it returns are copies, which are not needed.
      await this.#session.run(feeds, this.#fetchesFor(outputs, expected.shapes, parts));
      if (this.#expected.areWritten(request)) return this.#expected.resultFrom(outputs, expected.shapes, parts);
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
      const spec = mustFindTensor(this.#spec, 'input', input.index);
      feeds[spec.name] = onnxTensorFrom(spec, input);
    }
    return feeds;
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

  /** `expected` is given after a run in place that failed. */
  async #runThenCopy(feeds: Feeds, { memory, outputs }: RunRequest, expected?: Expected): Promise<RunResult> {
    const names = outputs.map((index) => mustFindTensor(this.#spec, 'output', index).name);
    const tensors = await this.#session.run(feeds, names);
    const results = names.map((name) => tensors[name] as Tensor);
    const shapes = results.map(({ dims }) => dims);
    for (const [part, shape] of shapes.entries()) mustBeExact(names[part] as string, shape);
    if (this.#hasInvalidText) mustBeUnchanged(names, results);
    if (expected !== undefined) this.#expected.learn(outputs, expected.shapes, shapes);
    const parts = memory.layOut(
      results.map(({ data }) => (ArrayBuffer.isView(data) ? data.byteLength : textBytes(data as string[]))),
    );
    for (const [part, { data }] of results.entries()) {
      if (!ArrayBuffer.isView(data)) memory.fill(part, (target) => writeTexts(data as string[], target));
      else memory.write(part, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    }
    return this.#expected.resultFrom(outputs, shapes, parts);
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

function inferenceErrorFrom(error: unknown, { gpu }: LoadSpec): InferenceError {
  if (error instanceof InferenceError) return error;
  const message = error instanceof Error ? error.message.trim() : String(error);
  const lost = gpu === undefined ? undefined : cudaContextFailure(message);
  if (lost !== undefined) return new ProcessSpoiled(`GPU ${gpu?.id}: ${lost}`, { cause: error });
  return new InferenceError('inference-failed', message, { cause: error });
}
