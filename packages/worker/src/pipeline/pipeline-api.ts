/**
 * What a pipeline is written with, imported as `millrace/pipeline`: types, so that editors help, and a few small
 * helpers. A worker gives every pipeline this module, whether or not anything is installed beside the model.
 */
import { type Datatype, type ElementArrays, InferenceError } from '@millrace/protocol';

export type { Datatype } from '@millrace/protocol';

/** An input or output as a pipeline declares it; -1 is a free size. */
export interface TensorDeclaration {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** An input that callers may leave out. */
  readonly optional?: boolean;
}

export type TensorDeclarations = Readonly<Record<string, TensorDeclaration>>;

/** Elements as a pipeline has them: a typed array; 16-bit floats as bits; BYTES as a list. */
export type TensorData<T extends Datatype = Datatype> = T extends 'BYTES' ? readonly Uint8Array[] : ElementArrays[T];

export interface PipelineTensor<T extends Datatype = Datatype> {
  readonly datatype: T;
  readonly shape: readonly number[];
  readonly data: TensorData<T>;
}

/** A tensor as a pipeline gives it. Text stands for its UTF-8; a typed array tells its datatype. */
export interface GivenTensor {
  readonly data: TensorData | readonly string[];
  /** A list of one size, unless given; for an output, the declared shape where it has no free size. */
  readonly shape?: readonly number[];
  /** Needed where the data cannot tell: BOOL, FP16 and BF16. */
  readonly datatype?: Datatype;
}

type InputsOf<I extends TensorDeclarations> = {
  readonly [Name in keyof I]: I[Name]['optional'] extends true
    ? PipelineTensor<I[Name]['datatype']> | undefined
    : PipelineTensor<I[Name]['datatype']>;
};

export interface PipelineRequest<I extends TensorDeclarations = TensorDeclarations> {
  readonly inputs: InputsOf<I>;
  /** Names of the outputs that somebody wants. */
  readonly outputs: readonly string[];
}

export interface ModelCallOptions {
  /** The version the model prefers, unless given. */
  readonly version?: string;
  /** All of them, unless given. */
  readonly outputs?: readonly string[];
  /** Never longer than the request itself has. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface DecodeOptions {
  /** The picture's own, unless given. */
  readonly width?: number;
  readonly height?: number;
  /** `cover` cuts off what sticks out, `contain` fills up with black, `fill` stretches; `cover` unless given. */
  readonly fit?: 'cover' | 'contain' | 'fill';
  /** Planes one after the other, or the channels of each pixel together; `CHW` unless given. */
  readonly layout?: 'CHW' | 'HWC';
  /** 1 for grey, 3 for red, green and blue; 3 unless given. */
  readonly channels?: 1 | 3;
  /** `FP32` unless given; as `UINT8` pixels are 0 to 255, and there is no scale, mean or std. */
  readonly datatype?: 'FP32' | 'UINT8';
  /** Elements are (pixel * scale - mean) / std; 1/255, 0 and 1 unless given, means and stds for each channel or for all. */
  readonly scale?: number;
  readonly mean?: number | readonly number[];
  readonly std?: number | readonly number[];
}

export interface PipelineContext {
  /**
   * Asks another model, or several at once. The call has the caller, the priority and what is left of the time of the
   * request. Rejects with an error that has a `code` of docs/reference/errors.md.
   */
  infer(
    model: string,
    inputs: Readonly<Record<string, GivenTensor>>,
    options?: ModelCallOptions,
  ): Promise<Readonly<Record<string, PipelineTensor>>>;
  readonly images: {
    /** A picture (JPEG, PNG, WebP, GIF, AVIF, TIFF) as a tensor, [channels, height, width] or [height, width, channels]. */
    decode(bytes: Uint8Array, options?: DecodeOptions): Promise<PipelineTensor<'FP32' | 'UINT8'>>;
  };
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  readonly model: string;
  readonly version: string;
}

export interface PipelineDefinition<
  I extends TensorDeclarations = TensorDeclarations,
  O extends TensorDeclarations = TensorDeclarations,
> {
  /** May stand in config.pbtxt instead. */
  readonly inputs?: I;
  readonly outputs?: O;
  /**
   * Requests may bring rows along a first dimension that is not declared, and share a run with others; 0, as without it:
   * each request is a run of its own.
   */
  readonly maxBatchSize?: number;
  /**
   * One answer, or with `async *run` any number of them, each sent when it is given. A pipeline of the second kind is
   * *decoupled*, and only calls that can carry several answers may ask it: `ModelStreamInfer`.
   */
  run(
    request: PipelineRequest<I>,
    context: PipelineContext,
  ): Promise<PipelineAnswer<O>> | PipelineAnswer<O> | AsyncIterable<PipelineAnswer<O>>;
  /** It answers a request any number of times; needed only where `run` is no `async *` function. */
  readonly decoupled?: boolean;
}

/** An answer by the names of the outputs. */
export type PipelineAnswer<O extends TensorDeclarations = TensorDeclarations> = Readonly<
  Record<keyof O & string, GivenTensor>
>;

const mark = Symbol.for('millrace.pipeline');

/** Makes a pipeline; to be the default export of its module. */
export function definePipeline<const I extends TensorDeclarations, const O extends TensorDeclarations>(
  definition: PipelineDefinition<I, O>,
): PipelineDefinition<I, O> {
  return Object.freeze({ ...definition, [mark]: true });
}

export function isPipeline(value: unknown): value is PipelineDefinition {
  return typeof value === 'object' && value !== null && mark in value;
}

/** For a request that is wrong: `throw invalid('the picture is too dark')` answers it with `invalid-request`. */
export function invalid(message: string): Error {
  return new InferenceError('invalid-request', message);
}
