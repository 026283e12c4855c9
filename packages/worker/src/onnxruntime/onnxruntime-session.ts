import {
  datatypes,
  elementCount,
  InferenceError,
  type LoadSpec,
  type Region,
  type TensorSpec,
} from '@millrace/protocol';
import { type InferenceSession, Tensor } from 'onnxruntime-node';
import { ProcessSpoiled, type RunRequest, type RunResult, type Session } from '../engine.ts';
import { elementsFrom, elementTypes } from './element-types.ts';
import { callerShapeFrom, engineShapeFrom } from './engine-shape.ts';
import { contextFailure } from './gpu-failure.ts';
import { textBytes, textsFrom, writeTexts } from './text-tensor.ts';

type Batch = RunRequest['inputs'][number];
const alignmentBytes = 8;
/** Where the language has it, `Tensor` insists on Float16Array, which the native side then takes for empty. */
const hasFloat16Array = 'Float16Array' in globalThis;

interface OutputPlace {
  readonly spec: TensorSpec;
  readonly index: number;
  /** As the engine sees it. */
  readonly shape: readonly number[];
  readonly bytes: number;
  readonly offset: number;
}

/** One loaded model. Runs on the calling thread: the promise is already settled work, not work in the background. */
export class OnnxruntimeSession implements Session {
  readonly #session: InferenceSession;
  readonly #spec: LoadSpec;

  constructor(session: InferenceSession, spec: LoadSpec) {
    this.#session = session;
    this.#spec = spec;
  }

  async run(request: RunRequest): Promise<RunResult> {
    const feeds = this.#feedsFrom(request);
    const places = this.#placesKnownBefore(request);
    return places === undefined ? this.#runThenCopy(feeds, request) : this.#runInPlace(feeds, request, places);
  }

  /** As `run`, but the shapes of the outputs are the engine's word alone: for finding out whether they are as declared. */
  async runUnplaced(request: RunRequest): Promise<RunResult> {
    return this.#runThenCopy(this.#feedsFrom(request), request);
  }

  unload(): Promise<void> {
    return this.#session.release();
  }

  #feedsFrom(request: RunRequest): Record<string, Tensor> {
    const feeds: Record<string, Tensor> = {};
    for (const input of request.inputs) {
      const spec = this.#mustFind(this.#spec.inputs, input.index, 'input');
      feeds[spec.name] = tensorFrom(spec, input);
    }
    return feeds;
  }

  /** The engine writes into the lent memory itself. The tensors it returns are copies nobody needs. */
  async #runInPlace(
    feeds: Record<string, Tensor>,
    request: RunRequest,
    places: readonly OutputPlace[],
  ): Promise<RunResult> {
    let region: Region | undefined;
    try {
      region = request.lend(totalBytes(places));
      const fetches: Record<string, Tensor> = {};
      for (const place of places) {
        const { spec, shape, bytes, offset } = place;
        fetches[spec.name] = numericTensor(spec, region.bytes.subarray(offset, offset + bytes), shape);
      }
      await this.#session.run(feeds, fetches);
      return resultFrom(places, region);
    } catch (error) {
      region?.release();
      throw inferenceErrorFrom(error, this.#spec);
    }
  }

  async #runThenCopy(feeds: Record<string, Tensor>, request: RunRequest): Promise<RunResult> {
    const specs = request.outputs.map((index) => this.#mustFind(this.#spec.outputs, index, 'output'));
    try {
      const results = await this.#session.run(
        feeds,
        specs.map(({ name }) => name),
      );
      const places: OutputPlace[] = [];
      let end = 0;
      for (const [position, spec] of specs.entries()) {
        const { data, dims } = results[spec.name] as Tensor;
        const bytes = ArrayBuffer.isView(data) ? data.byteLength : textBytes(data as string[]);
        places.push({ spec, index: request.outputs[position] as number, shape: dims, bytes, offset: end });
        end += aligned(bytes);
      }
      const region = request.lend(end);
      for (const { spec, bytes, offset } of places) {
        const { data } = results[spec.name] as Tensor;
        const target = region.bytes.subarray(offset, offset + bytes);
        if (ArrayBuffer.isView(data)) target.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
        else writeTexts(data as string[], target);
      }
      return resultFrom(places, region);
    } catch (error) {
      throw inferenceErrorFrom(error, this.#spec);
    }
  }

  /** Where each output will lie, or undefined when only the run can tell. */
  #placesKnownBefore(request: RunRequest): OutputPlace[] | undefined {
    if (request.outputs.length === 0) throw new InferenceError('inference-failed', 'no output was asked for');
    const rows = request.inputs[0]?.shape[0];
    // Inputs of unequal first sizes are no batch: how many rows come out is for the graph to say.
    if (this.#spec.isBatched && request.inputs.some(({ shape }) => shape[0] !== rows)) return undefined;
    const places: OutputPlace[] = [];
    let offset = 0;
    for (const index of request.outputs) {
      const spec = this.#mustFind(this.#spec.outputs, index, 'output');
      const elementBytes = datatypes[spec.datatype].bytes;
      if (elementBytes === undefined || (spec.datatype === 'FP16' && hasFloat16Array)) return undefined;
      const shape = [...(spec.engineShape ?? spec.shape)];
      if (this.#spec.isBatched && rows !== undefined) shape[0] = rows;
      if (shape.includes(-1)) return undefined;
      const bytes = elementCount(shape) * elementBytes;
      places.push({ spec, index, shape, bytes, offset });
      offset += aligned(bytes);
    }
    return places;
  }

  #mustFind(specs: readonly TensorSpec[], index: number, role: string): TensorSpec {
    const spec = specs[index];
    if (spec !== undefined) return spec;
    throw new InferenceError('inference-failed', `model "${this.#spec.name}" has no ${role} number ${index}`);
  }
}

function tensorFrom(spec: TensorSpec, { shape, data }: Batch): Tensor {
  const count = elementCount(shape);
  const engineShape = engineShapeFrom(spec, shape);
  if (spec.datatype === 'BYTES') return new Tensor('string', textsFrom(data, count, spec.name), engineShape);
  if (count * datatypes[spec.datatype].bytes !== data.length) {
    throw new InferenceError(
      'inference-failed',
      `input "${spec.name}" of shape [${shape}] has ${data.length} bytes, not the ${count} ${spec.datatype} elements of its shape`,
    );
  }
  return numericTensor(spec, data, engineShape);
}

function numericTensor(spec: TensorSpec, bytes: Uint8Array, dims: readonly number[]): Tensor {
  const type = elementTypes[spec.datatype];
  const elementBytes = datatypes[spec.datatype].bytes;
  if (type?.array === undefined || elementBytes === undefined) {
    throw new InferenceError('unsupported', `${spec.datatype} tensors cannot be passed to ONNX Runtime`);
  }
  const data = elementsFrom(bytes, type.array, elementBytes);
  if (spec.datatype === 'FP16' && hasFloat16Array) {
    return { type: type.onnxName, data, dims, location: 'cpu' } as unknown as Tensor;
  }
  return new Tensor(type.onnxName as 'float32', data as Float32Array, dims);
}

function resultFrom(places: readonly OutputPlace[], region: Region): RunResult {
  const outputs = places.map(({ spec, index, shape, bytes, offset }) => ({
    index,
    shape: callerShapeFrom(spec, shape),
    data: region.bytes.subarray(offset, offset + bytes),
  }));
  return { outputs, region };
}

function totalBytes(places: readonly OutputPlace[]): number {
  const last = places[places.length - 1];
  return last === undefined ? 0 : last.offset + aligned(last.bytes);
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / alignmentBytes) * alignmentBytes;
}

function inferenceErrorFrom(error: unknown, { gpu }: LoadSpec): InferenceError {
  if (error instanceof InferenceError) return error;
  const message = error instanceof Error ? error.message.trim() : String(error);
  const lost = gpu === undefined ? undefined : contextFailure(message);
  if (lost !== undefined) return new ProcessSpoiled(`GPU ${gpu?.id}: ${lost}`, { cause: error });
  return new InferenceError('inference-failed', message, { cause: error });
}
