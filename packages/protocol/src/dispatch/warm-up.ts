/**
 * Requests that an instance runs before it is reported ready. They are sent as recipes, not as data: a worker makes
 * zeros and random values itself and reads files directly.
 */
export interface WarmupSample {
  readonly name: string;
  /** All rows are equal; 1 for a model without batches. */
  readonly rows: number;
  readonly runs: number;
  readonly inputs: readonly WarmupInput[];
}

export interface WarmupInput {
  /** Position among the model's inputs. */
  readonly index: number;
  /** Shape of one row: without the batch dimension, where the model has one. */
  readonly shape: readonly number[];
  readonly fill: WarmupFill;
}

export type WarmupFill =
  | { readonly kind: 'zeros' }
  /** The same values on every load. */
  | { readonly kind: 'random' }
  /** Raw bytes of one row. */
  | { readonly kind: 'file'; readonly path: string }
  /** The whole numbers of one row. */
  | { readonly kind: 'values'; readonly values: readonly number[] };
