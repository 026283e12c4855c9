/** Operators that treat each element alone, or elements at the same position of several tensors. */
import { isRows } from '../axes.ts';
import { broadcast, mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { constantsOf, contentsMax, contentsOf, elementCountOf, exactMax, wholeConstants } from '../contents.ts';
import { Size } from '../size.ts';
import { counted, mixed, type OperatorOutput, plain, unknown, type Value } from '../value.ts';

/** The first input's shape; further inputs are settings and must be the same for all rows. */
export const elementwiseUnary: Transfer = (call) => {
  const value = call.input(0);
  mustBeSettings(call, 1);
  mustNotCount([value]);
  return value.kind === 'plain' ? plain(value.dims) : value;
};

/** Max, Mean, Min and Sum: until opset 7 all inputs have one shape, and nothing is repeated along the batch axis. */
export function equalShapesUntil7(transfer: Transfer): Transfer {
  return (call) => {
    const values = call.given;
    if (call.opset < 8 && values.some(isRows) && !values.every(isRows)) {
      throw mixed(
        'until opset 7 its inputs must have one shape, so a tensor without rows fits one number of rows only',
      );
    }
    return transfer(call);
  };
}

/** As `elementwiseUnary`, and whole numbers stay what they are. */
export const unchanged: Transfer = (call) => {
  mustBeSettings(call, 1);
  return call.input(0);
};

/** Whole numbers stay what they are, as does what is not followed. */
export const rounded: Transfer = (call) => {
  const value = call.input(0);
  if (value.kind === 'rows') return value;
  const contents = value.contents;
  return contents === undefined || value.dims === undefined
    ? plain(value.dims)
    : counted(value.dims, wholeOnly(contents, call));
};

/** ONNX's numbers of the types that hold every size exactly: FLOAT, INT32, INT64, DOUBLE, UINT32, UINT64. */
const exactTypes: ReadonlySet<number> = new Set([1, 6, 7, 11, 12, 13]);
const unsignedTypes: ReadonlySet<number> = new Set([12, 13]);
const floatType = 1;
const booleanType = 9;

export const cast: Transfer = (call) => {
  const value = call.input(0);
  if (value.kind === 'rows') return value;
  const contents = value.contents ?? (value.kind === 'plain' ? wholeConstants(value.numbers) : undefined);
  const to = call.node.operator === 'Cast' ? call.integer('to', 0) : 0;
  if (contents === undefined || value.dims === undefined) return plain(value.dims);
  if (exactTypes.has(to)) {
    const isUnsigned = unsignedTypes.has(to);
    const kept = wholeOnly(contents, call).map((size) => {
      const isHeld =
        !isInexact(size) && (!isUnsigned || call.symbols.isNotNegative(size)) && (to !== floatType || isSimple(size));
      if (isHeld) return size;
      if (size.dependsOnRows) throw mixed('the number of rows is used as a value');
      return call.symbols.element();
    });
    return counted(value.dims, kept);
  }
  if (to === booleanType) {
    return counted(
      value.dims,
      contents.map((size) => truthOf(size, call)),
    );
  }
  mustNotCount([value]);
  return plain(value.dims);
};

/** One size, not a product of several: no axis is so long that a FLOAT cannot hold it exactly. */
function isSimple(size: Size): boolean {
  return (
    size.constantValue !== undefined ||
    (size.symbols.size === 1 && Size.symbol([...size.symbols][0] as string).equals(size))
  );
}

/** An element that nothing is known of may have a fraction, which a conversion cuts off. */
function wholeOnly(contents: readonly Size[], { symbols }: OperatorCall): readonly Size[] {
  return contents.map((size) => {
    if (symbols.isSizeOnly(size)) return size;
    if (size.dependsOnRows) throw mixed('the number of rows is used as a value');
    return symbols.element();
  });
}

function truthOf(size: Size, { symbols }: OperatorCall): Size {
  if (size.is(0)) return Size.constant(0);
  if (symbols.isPositive(size)) return Size.constant(1);
  if (size.dependsOnRows) throw mixed('the number of rows is used as a value');
  return symbols.element();
}

export const nary: Transfer = (call) => broadcast(call.given, call.symbols);

/** Inputs from `first` on must not carry rows. */
export function mustBeSettings(call: OperatorCall, first: number): void {
  for (const value of call.inputs.slice(first)) {
    if (value === undefined || value.kind === 'plain') continue;
    if (value.kind === 'counted') throw mixed('the number of rows is used as a value');
    throw unknown('an input that sets how it works depends on the rows');
  }
}

type Fold = (left: Size, right: Size, call: OperatorCall) => Size | undefined;

/** Arithmetic that is followed on shapes. */
export function arithmetic(fold: Fold): Transfer {
  return (call) => {
    const values = call.given;
    if (values.every(({ kind }) => kind === 'plain') && !values.some(hasContents))
      return broadcast(values, call.symbols);
    const folded = foldContents(values, fold, call);
    if (folded !== undefined) return folded;
    return broadcast(values, call.symbols);
  };
}

function hasContents(value: Value): boolean {
  return value.kind === 'counted' || (value.kind === 'plain' && value.contents !== undefined);
}

/** Scalars and lists only; undefined when an element cannot be followed and nothing depends on the number of rows. */
function foldContents(values: readonly Value[], fold: Fold, call: OperatorCall): OperatorOutput | undefined {
  const isCounting = values.some(({ kind }) => kind === 'counted');
  const giveUp = (): undefined => {
    if (isCounting) throw mixed('the number of rows is used as a value');
    return undefined;
  };
  if (values.some((value) => value.kind === 'rows' || value.dims === undefined || value.dims.length > 1))
    return giveUp();
  const lists = values.map((value) => contentsOf(value, call.symbols));
  if (lists.some((list) => list === undefined)) return giveUp();
  const length = Math.max(...lists.map((list) => (list as readonly Size[]).length));
  const rank = Math.max(...values.map((value) => (value.dims as readonly Size[]).length));
  const contents: Size[] = [];
  for (let index = 0; index < length; index++) {
    let result: Size | undefined;
    for (const list of lists as readonly (readonly Size[])[]) {
      if (list.length !== 1 && list.length !== length) return giveUp();
      const element = list[list.length === 1 ? 0 : index] as Size;
      result =
        result === undefined ? element : (foldOf(fold, result, element, call) ?? unfollowed(result, element, call));
      if (result === undefined) return giveUp();
    }
    contents.push(result as Size);
  }
  return counted(rank === 0 ? [] : [Size.constant(length)], contents);
}

/** Elements that nothing is known of may have a fraction: sums and products with the number of rows are not followed. */
function foldOf(fold: Fold, left: Size, right: Size, call: OperatorCall): Size | undefined {
  const isSafe =
    !(left.dependsOnRows || right.dependsOnRows) || (call.symbols.isSizeOnly(left) && call.symbols.isSizeOnly(right));
  if (!isSafe || isInexact(left) || isInexact(right)) return undefined;
  const result = fold(left, right, call);
  return result === undefined || isInexact(result) ? undefined : result;
}

/** A number that some type cannot hold, or that stands for a still larger one. */
function isInexact(size: Size): boolean {
  return Math.abs(size.constantValue ?? 0) > exactMax;
}

/** An element that is not followed is a symbol of its own, as long as it does not depend on the number of rows. */
function unfollowed(left: Size, right: Size, call: OperatorCall): Size | undefined {
  return left.dependsOnRows || right.dependsOnRows ? undefined : call.symbols.element();
}

export const foldPlus: Fold = (left, right) => left.plus(right);
export const foldMinus: Fold = (left, right) => left.minus(right);
export const foldTimes: Fold = (left, right) => left.times(right);

/** Exact for numbers with and without a fraction alike only where nothing is left over. */
export const foldQuotient: Fold = (left, right) => left.dividedBy(right);

export const foldMaximum: Fold = (left, right, { symbols }) => {
  if (left.equals(right)) return left;
  const difference = left.minus(right);
  if (difference === undefined) return undefined;
  if (symbols.isNotNegative(difference)) return left;
  const opposite = right.minus(left);
  return opposite !== undefined && symbols.isNotNegative(opposite) ? right : undefined;
};

export const foldMinimum: Fold = (left, right, call) => {
  const larger = foldMaximum(left, right, call);
  if (larger === undefined) return undefined;
  return larger.equals(left) ? right : left;
};

const no = Size.constant(0);
const yes = Size.constant(1);

export const foldEqual: Fold = (left, right, { symbols }) => {
  if (left.equals(right)) return yes;
  const difference = left.minus(right);
  const opposite = right.minus(left);
  if (difference === undefined || opposite === undefined) return undefined;
  return symbols.isPositive(difference) || symbols.isPositive(opposite) ? no : undefined;
};

export const foldGreater: Fold = (left, right, { symbols }) => {
  const difference = left.minus(right);
  const opposite = right.minus(left);
  if (difference === undefined || opposite === undefined) return undefined;
  if (symbols.isPositive(difference)) return yes;
  return symbols.isNotNegative(opposite) ? no : undefined;
};

export const foldLess: Fold = (left, right, call) => foldGreater(right, left, call);
export const foldAnd: Fold = (left, right) => (left.is(0) || right.is(0) ? no : left.is(1) ? right : undefined);
export const foldOr: Fold = (left, right) => (left.is(1) || right.is(1) ? yes : left.is(0) ? right : undefined);

export const not: Transfer = (call) => {
  const value = call.input(0);
  const [element] = constantsOf(value) ?? [];
  if (value.kind === 'plain' && elementCountOf(value) === 1 && element !== undefined) {
    return plain(value.dims, [element === 0 ? yes : no]);
  }
  return elementwiseUnary(call);
};

/** On shapes, where the condition is known element by element. */
export const where: Transfer = (call) => {
  const [condition, left, right] = [call.input(0), call.input(1), call.input(2)];
  const values = [condition, left, right];
  if (values.some(({ kind }) => kind === 'rows') || !values.some(hasContents)) return broadcast(values, call.symbols);
  const chosen = chooseContents(condition, left, right, call);
  return chosen ?? broadcast(values, call.symbols);
};

function chooseContents(condition: Value, left: Value, right: Value, call: OperatorCall): OperatorOutput | undefined {
  const values = [condition, left, right];
  if (values.some(({ dims }) => dims === undefined || dims.length > 1)) return undefined;
  const [flags, lefts, rights] = values.map((value) => contentsOf(value, call.symbols));
  if (flags === undefined || lefts === undefined || rights === undefined) return undefined;
  const length = Math.max(flags.length, lefts.length, rights.length);
  if (length > contentsMax) return undefined;
  const contents: Size[] = [];
  for (let index = 0; index < length; index++) {
    const at = (list: readonly Size[]): Size | undefined => list[list.length === 1 ? 0 : index];
    const [flag, whenTrue, whenFalse] = [at(flags), at(lefts), at(rights)];
    if (flag === undefined || whenTrue === undefined || whenFalse === undefined) return undefined;
    if (whenTrue.equals(whenFalse) || flag.is(1)) contents.push(whenTrue);
    else if (flag.is(0)) contents.push(whenFalse);
    else if (whenTrue.dependsOnRows || whenFalse.dependsOnRows || flag.dependsOnRows) return undefined;
    else contents.push(call.symbols.element());
  }
  const rank = Math.max(...values.map(({ dims }) => (dims ?? []).length));
  return counted(rank === 0 ? [] : [Size.constant(length)], contents);
}

/** Leaves out the training that a node may ask for, which draws random numbers. */
export const dropout: Transfer = (call) => {
  const training = call.inputs[2];
  if (training !== undefined && constantsOf(training)?.[0] !== 0)
    throw unknown('it draws random numbers in training mode');
  const value = call.input(0);
  return [value, value.kind === 'rows' ? value : plain(value.dims)];
};
