/** What the analysis knows of a tensor while a batch of N rows is run. */
import { rowCount, type Size } from './size.ts';

/** The same for every batch: nothing in it depends on the rows or on how many there are. */
export interface PlainValue {
  readonly kind: 'plain';
  /** Undefined: not even the number of axes is known. */
  readonly dims: readonly Size[] | undefined;
  /** The elements of a small tensor of whole numbers, in order. */
  readonly contents?: readonly Size[] | undefined;
  /** The elements of a small tensor of numbers that are constants. */
  readonly numbers?: readonly number[] | undefined;
}

/** Axis `axis` holds the rows one after the other, with equally many elements each; part i depends on row i alone. */
export interface RowsValue {
  readonly kind: 'rows';
  readonly axis: number;
  readonly dims: readonly Size[];
}

/** A small tensor of whole numbers that depends on the number of rows, and on nothing else of them: mostly sizes. */
export interface CountedValue {
  readonly kind: 'counted';
  readonly dims: readonly Size[];
  readonly contents: readonly Size[];
}

/** Rows are mixed in it, or that is unknown. Returned only for outputs that nothing may use. */
export interface MixedValue {
  readonly kind: 'mixed';
  readonly isCertain: boolean;
  readonly reason: string;
}

/** A list of tensors. Only operators for lists take it. */
export interface SequenceValue {
  readonly kind: 'sequence';
  readonly elements: readonly Value[];
}

export type Value = PlainValue | RowsValue | CountedValue;
export type OperatorOutput = Value | SequenceValue | MixedValue;

/** Ends the analysis: rows are mixed, or it is unknown whether they are. */
export class RowsMixed extends Error {
  /** Whether they are certainly mixed. */
  readonly isCertain: boolean;

  constructor(isCertain: boolean, reason: string) {
    super(reason);
    this.name = 'RowsMixed';
    this.isCertain = isCertain;
  }
}

export function mixed(reason: string): RowsMixed {
  return new RowsMixed(true, reason);
}

export function unknown(reason: string): RowsMixed {
  return new RowsMixed(false, reason);
}

export function plain(dims: readonly Size[] | undefined, contents?: readonly Size[]): PlainValue {
  return contents === undefined ? { kind: 'plain', dims } : { kind: 'plain', dims, contents };
}

/** A tensor with these axes of which `axis` holds the rows; checks that this is possible. */
export function rows(dims: readonly Size[], axis: number): RowsValue {
  for (const [index, size] of dims.entries()) {
    if (index === axis) {
      const perRow = size.dividedBy(rowCount);
      if (perRow === undefined || perRow.dependsOnRows)
        throw unknown('the size of the batch axis is not a multiple of the rows');
    } else if (size.dependsOnRows) throw mixed('a second axis grows with the number of rows');
  }
  return { kind: 'rows', dims, axis };
}

/** Of whole numbers: plain where the number of rows is not among them. */
export function counted(dims: readonly Size[], contents: readonly Size[]): PlainValue | CountedValue {
  return contents.some((size) => size.dependsOnRows) ? { kind: 'counted', dims, contents } : plain(dims, contents);
}

/** A tensor of these axes that is the same in every element, or at least along the one that grows with the rows. */
export function filled(dims: readonly Size[]): PlainValue | RowsValue {
  const growing = dims.flatMap((size, axis) => (size.dependsOnRows ? [axis] : []));
  const [axis] = growing;
  return axis === undefined ? plain(dims) : rows(dims, axis);
}

export function mustHaveDims(value: Value, what = 'a tensor'): readonly Size[] {
  if (value.dims === undefined) throw unknown(`the number of axes of ${what} is not known`);
  return value.dims;
}
