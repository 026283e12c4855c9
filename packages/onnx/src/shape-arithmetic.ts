/**
 * What a graph computes of sizes before it uses them as a shape: chains of Shape, Gather, Concat and the like, as exporters write them.
 * Only tensors of no axis or one are followed.
 */
import type { GraphProto, NodeProto, StoredTensor } from './model/model-proto.ts';

/** A number; or the name of a size, which is not negative and known in a run only. Undefined: nothing is known. */
export type ShapeElement = number | string | undefined;

interface SmallTensor {
  readonly elements: readonly ShapeElement[];
  /** A tensor without axes, of one element. */
  readonly isScalar: boolean;
}

type Inputs = readonly (SmallTensor | undefined)[];

const elementsMax = 16;
/** Nodes in a row. Exporters need some ten. */
const depthMax = 40;

export class ShapeArithmetic {
  readonly #producers = new Map<string, NodeProto>();
  readonly #initializers: ReadonlyMap<string, StoredTensor>;
  readonly #sizes: ReadonlyMap<string, readonly ShapeElement[]>;
  readonly #found = new Map<string, SmallTensor | undefined>();

  /** @param sizes of tensors, by name, where they are known */
  constructor({ nodes, initializers, inputs }: GraphProto, sizes: ReadonlyMap<string, readonly ShapeElement[]>) {
    for (const node of nodes) for (const name of node.outputs) this.#producers.set(name, node);
    const given = new Set(inputs.map(({ name }) => name));
    // An input with a default may be given other values.
    this.#initializers = new Map([...initializers].filter(([name]) => !given.has(name)));
    this.#sizes = sizes;
  }

  /** The elements of a tensor in their order; undefined: it is not known how many there are. */
  takeElements(tensor: string): readonly ShapeElement[] | undefined {
    return this.#take(tensor, 0)?.elements;
  }

  #take(name: string, depth: number): SmallTensor | undefined {
    if (this.#found.has(name)) return this.#found.get(name);
    if (depth > depthMax) return undefined;
    const stored = this.#initializers.get(name);
    const node = this.#producers.get(name);
    const found =
      stored !== undefined ? storedTensor(stored) : node === undefined ? undefined : this.#computed(node, depth);
    const kept = found !== undefined && found.elements.length <= elementsMax ? found : undefined;
    this.#found.set(name, kept);
    return kept;
  }

  #computed(node: NodeProto, depth: number): SmallTensor | undefined {
    if (node.domain !== '' || node.outputs.length !== 1) return undefined;
    const { operator, attributes } = node;
    if (operator === 'Shape') {
      if (attributes.size > 0) return undefined;
      const sizes = this.#sizes.get(node.inputs[0] as string);
      if (sizes !== undefined) return listOf(sizes);
    }
    const inputs = node.inputs.map((input) => (input === '' ? undefined : this.#take(input, depth + 1)));
    const isOfSizes = this.#producers.get(node.inputs[0] ?? '')?.operator === 'Shape';
    // The last size of a tensor of any rank: one element.
    if (inputs[0] === undefined && operator === 'Slice' && isOfSizes && isLast(inputs)) return listOf([undefined]);
    return operators[operator]?.(inputs, node);
  }
}

function listOf(elements: readonly ShapeElement[]): SmallTensor {
  return { elements, isScalar: false };
}

/** Whether a Slice takes what is last on the first axis. */
function isLast([, starts, ends, axes, steps]: Inputs): boolean {
  const [start, end] = [starts?.elements[0], ends?.elements[0]];
  return start === -1 && typeof end === 'number' && end > 2 ** 31 - 2 && isPlainSlice(axes, steps);
}

function isPlainSlice(axes: SmallTensor | undefined, steps: SmallTensor | undefined): boolean {
  return (axes?.elements[0] ?? 0) === 0 && (steps?.elements[0] ?? 1) === 1;
}

function storedTensor({ shape, values }: StoredTensor): SmallTensor | undefined {
  return values === undefined || shape.length > 1 ? undefined : { elements: values, isScalar: shape.length === 0 };
}

const operators: Readonly<Record<string, (inputs: Inputs, node: NodeProto) => SmallTensor | undefined>> = {
  Constant: (_, { attributes }) => {
    const value = attributes.get('value') ?? attributes.get('value_int') ?? attributes.get('value_float');
    if (value?.kind === 'tensor') return storedTensor(value.value);
    if (value?.kind === 'integer' || value?.kind === 'float') return { elements: [value.value], isScalar: true };
    const list = attributes.get('value_ints');
    return list?.kind === 'integers' ? listOf(list.value) : undefined;
  },
  Identity: ([input]) => input,
  // Fractions are rounded, and truths are no numbers.
  Cast: ([input]) => each(input, (element) => (Number.isInteger(element) ? element : nameOf(element))),
  Sqrt: ([input]) => each(input, () => undefined),
  Shape: ([input]) => input && listOf(input.isScalar ? [] : [input.elements.length]),
  Unsqueeze: ([input]) => (input?.isScalar === true ? listOf(input.elements) : undefined),
  Squeeze: ([input]) => (input?.elements.length === 1 ? { ...input, isScalar: true } : undefined),
  Reshape: ([input, shape]) =>
    shape?.elements.length === 1 && shape.elements[0] === -1 ? input && listOf(input.elements) : undefined,
  Concat: (inputs) =>
    inputs.every((input) => input !== undefined && !input.isScalar)
      ? listOf(inputs.flatMap((input) => input?.elements ?? []))
      : undefined,
  Gather: ([input, indices]) =>
    input?.isScalar === false
      ? each(indices, (index) => (typeof index === 'number' ? input.elements.at(index) : undefined))
      : undefined,
  Slice: ([input, starts, ends, axes, steps]) => {
    const [start, end] = [starts?.elements[0], ends?.elements[0]];
    if (!isPlainSlice(axes, steps) || typeof start !== 'number' || typeof end !== 'number') return undefined;
    return input?.isScalar === false ? listOf(input.elements.slice(start, end)) : undefined;
  },
  ConstantOfShape: ([shape], { attributes }) => {
    const [length, ...others] = shape?.elements ?? [];
    if (typeof length !== 'number' || length > elementsMax || others.length > 0) return undefined;
    const value = attributes.get('value');
    const element = value?.kind === 'tensor' ? value.value.values?.[0] : 0;
    return listOf(Array.from({ length }, () => element));
  },
  Add: (inputs) => combined(inputs, ([left, right]) => numbers(left, right, (one, other) => one + other)),
  Sub: (inputs) => combined(inputs, ([left, right]) => numbers(left, right, (one, other) => one - other)),
  Div: (inputs) => combined(inputs, () => undefined),
  Mul: (inputs) =>
    combined(inputs, ([left, right]) => {
      if (left === 1) return right;
      return right === 1 ? left : numbers(left, right, (one, other) => one * other);
    }),
  Equal: (inputs) => combined(inputs, ([left, right]) => areEqual(left, right)),
  Where: (inputs) =>
    combined(inputs, ([condition, one, other]) => {
      if (typeof condition === 'number') return condition === 0 ? other : one;
      return one === other ? one : undefined;
    }),
};

function each(
  input: SmallTensor | undefined,
  change: (element: ShapeElement) => ShapeElement,
): SmallTensor | undefined {
  return input && { ...input, elements: input.elements.map(change) };
}

/** Element by element; a tensor of one element goes with each of the others. */
function combined(
  inputs: Inputs,
  combine: (elements: readonly ShapeElement[]) => ShapeElement,
): SmallTensor | undefined {
  const known = inputs.flatMap((input) => input ?? []);
  if (known.length < inputs.length) return undefined;
  const length = Math.max(...known.map(({ elements }) => elements.length));
  if (known.some(({ elements }) => elements.length !== length && elements.length !== 1)) return undefined;
  const at = (elements: readonly ShapeElement[], index: number): ShapeElement =>
    elements[elements.length === 1 ? 0 : index];
  return {
    elements: Array.from({ length }, (_, index) => combine(known.map(({ elements }) => at(elements, index)))),
    isScalar: known.every(({ isScalar }) => isScalar),
  };
}

function numbers(
  left: ShapeElement,
  right: ShapeElement,
  combine: (left: number, right: number) => number,
): ShapeElement {
  return typeof left === 'number' && typeof right === 'number' ? combine(left, right) : undefined;
}

/** 1 or 0, as booleans are kept. */
function areEqual(left: ShapeElement, right: ShapeElement): ShapeElement {
  if (left === undefined || right === undefined) return undefined;
  if (left === right) return 1;
  if (typeof left === 'number' && typeof right === 'number') return 0;
  const [number] = [left, right].filter((element) => typeof element === 'number');
  return number !== undefined && number < 0 ? 0 : undefined;
}

function nameOf(element: ShapeElement): ShapeElement {
  return typeof element === 'string' ? element : undefined;
}
