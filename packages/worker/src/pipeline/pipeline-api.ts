/**
 * The API for pipelines, imported as `millrace/pipeline`: types, for editors, and a few small helpers. A worker provides this
 * module to every pipeline, whether or not anything is installed beside the model.
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

/** Elements as a pipeline gets them: a typed array; 16-bit floats as bits; BYTES as a list. */
export type TensorData<T extends Datatype = Datatype> = T extends 'BYTES' ? readonly Uint8Array[] : ElementArrays[T];

export interface PipelineTensor<T extends Datatype = Datatype> {
  readonly datatype: T;
  readonly shape: readonly number[];
  readonly data: TensorData<T>;
}

/** A tensor as a pipeline returns it. Text is encoded as UTF-8; a typed array determines its datatype. */
export interface GivenTensor {
  readonly data: TensorData | readonly string[];
  /** Default: one dimension; for an output the declared shape, where at most one of its sizes is free. */
  readonly shape?: readonly number[];
  /** Needed where the data does not determine it: BOOL, FP16 and BF16. */
  readonly datatype?: Datatype;
}

type InputsOf<I extends TensorDeclarations> = {
  readonly [Name in keyof I]: I[Name]['optional'] extends true
    ? PipelineTensor<I[Name]['datatype']> | undefined
    : PipelineTensor<I[Name]['datatype']>;
};

export interface PipelineRequest<I extends TensorDeclarations = TensorDeclarations> {
  readonly inputs: InputsOf<I>;
  /** Names of the requested outputs. */
  readonly outputs: readonly string[];
}

export interface ModelCallOptions {
  /** Default: the version that the model prefers. */
  readonly version?: string;
  /** Default: all. */
  readonly outputs?: readonly string[];
  /** At most the time that the request itself has left. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface DecodeOptions {
  /** Default: the picture's own. */
  readonly width?: number;
  readonly height?: number;
  /** `cover` crops, `contain` pads with black, `fill` stretches; default: `cover`. */
  readonly fit?: 'cover' | 'contain' | 'fill';
  /** Planes one after the other, or the channels of each pixel interleaved; default: `CHW`. */
  readonly layout?: 'CHW' | 'HWC';
  /** 1 for grey, 3 for red, green and blue; default: 3. */
  readonly channels?: 1 | 3;
  /** Default: `FP32`. As `UINT8` pixels are 0 to 255, and scale, mean and std are not allowed. */
  readonly datatype?: 'FP32' | 'UINT8';
  /** Elements are (pixel * scale - mean) / std; defaults: 1/255, 0 and 1. Mean and std are one number for each channel or for all. */
  readonly scale?: number;
  readonly mean?: number | readonly number[];
  readonly std?: number | readonly number[];
}

export interface PipelineContext {
  /**
   * Calls another model; several calls may run at once. The call inherits the caller, the priority and the remaining time of
   * the request. Rejects with an error that has a `code` of docs/reference/errors.md.
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
  /** May be in config.pbtxt instead. */
  readonly inputs?: I;
  readonly outputs?: O;
  /**
   * Requests may have rows along a first dimension that is not declared, and share a run with others. 0, the default: each
   * request is a run of its own.
   */
  readonly maxBatchSize?: number;
  /**
   * Returns one answer, or with `async *run` yields any number of them, each sent at once. A pipeline of the second kind is
   * *decoupled*, and can only be called by `ModelStreamInfer`, which can return several answers.
   */
  run(
    request: PipelineRequest<I>,
    context: PipelineContext,
  ): Promise<PipelineAnswer<O>> | PipelineAnswer<O> | AsyncIterable<PipelineAnswer<O>>;
  /** It gives any number of answers to a request; needed only where `run` is no `async *` function. */
  readonly decoupled?: boolean;
}

/** An answer: the tensors by the names of the outputs. */
export type PipelineAnswer<O extends TensorDeclarations = TensorDeclarations> = Readonly<
  Record<keyof O & string, GivenTensor>
>;

const mark = Symbol.for('millrace.pipeline');

/** Defines a pipeline; to be the default export of its module. */
export function definePipeline<const I extends TensorDeclarations, const O extends TensorDeclarations>(
  definition: PipelineDefinition<I, O>,
): PipelineDefinition<I, O> {
  return Object.freeze({ ...definition, [mark]: true });
}

export function isPipeline(value: unknown): value is PipelineDefinition {
  return typeof value === 'object' && value !== null && mark in value;
}

/** The elements of a BYTES input as texts. What is not UTF-8 is answered with `invalid-request`, by the name of the input. */
export function decodeTexts(name: string, { data }: Pick<PipelineTensor<'BYTES'>, 'data'>): readonly string[] {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return data.map((bytes, index) => {
    try {
      return decoder.decode(bytes);
    } catch {
      throw invalid(`${name}[${index}] is not valid UTF-8; send text`);
    }
  });
}

/** The error for an invalid request: `throw invalid('the picture is too dark')` answers it with `invalid-request`. */
export function invalid(message: string): Error {
  return new InferenceError('invalid-request', message);
}
