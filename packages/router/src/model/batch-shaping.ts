/**
 * How requests of unequal shapes share a batch, for models that ask for it: rows are padded to the longest of the batch
 * and answers are cut back, or the elements of all requests are concatenated (ragged) and further inputs tell the model
 * where each request begins.
 */
import type { TensorSpec } from '@millrace/protocol';

export interface BatchShaping {
  /** By position among the inputs that clients give. */
  readonly inputs: readonly InputShaping[];
  /** By position among the outputs. */
  readonly outputs: readonly OutputShaping[];
  /** Inputs that the server generates from the shapes of a batch; the engine gets them after the inputs of clients. */
  readonly generated: readonly GeneratedInput[];
  /** Sizes that differ by more than this factor are never padded to each other. */
  readonly padRatioMax: number;
  /** The tensors of the model as workers load it. */
  readonly engine: {
    readonly inputs: readonly TensorSpec[];
    readonly outputs: readonly TensorSpec[];
    readonly isBatched: boolean;
  };
}

export type InputShaping =
  /** Only rows of one shape share a batch. */
  | { readonly kind: 'equal' }
  /** Free sizes are padded with this element. */
  | { readonly kind: 'padded'; readonly fill: Uint8Array }
  | { readonly kind: 'ragged' };

export type OutputShaping =
  | { readonly kind: 'rows' }
  | { readonly kind: 'cut'; readonly cuts: readonly Cut[] }
  /** The elements of all requests, concatenated; the shape of an input says how many belong to each request. */
  | { readonly kind: 'scattered'; readonly input: number };

/** An axis of an output that is as long as an axis of an input. The batch is axis 0. */
export interface Cut {
  readonly axis: number;
  readonly input: number;
  readonly inputAxis: number;
}

const generatedKinds = [
  'BATCH_ELEMENT_COUNT',
  'BATCH_ACCUMULATED_ELEMENT_COUNT',
  'BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO',
  'BATCH_MAX_ELEMENT_COUNT_AS_SHAPE',
  'BATCH_ITEM_SHAPE',
  'BATCH_ITEM_SHAPE_FLATTEN',
] as const;

export interface GeneratedInput {
  readonly kind: (typeof generatedKinds)[number];
  readonly datatype: 'INT32' | 'INT64' | 'FP32';
  /** Position of the input whose shapes it describes. */
  readonly source: number;
}

/**
 * Sizes of one class may be padded to each other: the largest is less than `ratioMax` times the smallest. Requests are
 * grouped by class, so that nothing has to search for requests of a fitting size.
 */
export function sizeClassOf(size: number, ratioMax: number): number {
  return size < 1 ? -1 : Math.floor(Math.log(size) / Math.log(ratioMax));
}
