/** How a graph uses a cache that it has joined: what the cache passes through up to the product in which attention takes it. */
import type { GraphProto, NodeProto } from './model/model-proto.ts';
import { type CacheSizes, takeRepetition } from './repeated-heads.ts';
import { ShapeArithmetic, type ShapeElement } from './shape-arithmetic.ts';

/** A cache as the graph joins it: `joined` is the Concat of the graph input `past` and of `added`. */
export interface JoinedCache {
  readonly joined: string;
  readonly past: string;
  readonly added: string;
}

/** Caches are rows, heads, tokens, size of a head. */
const rank = 4;
export const tokensAxis = 2;

export interface PlacedNode {
  readonly index: number;
  readonly node: NodeProto;
}

export interface CacheUse {
  readonly cache: JoinedCache;
  /** Where it is joined. */
  readonly join: number;
  /** Transposes on the way to the product. */
  readonly carriers: readonly PlacedNode[];
  readonly factors: readonly Factor[];
  /** Undefined: queries have as many heads as the cache. */
  readonly groups: Groups | undefined;
  /** Nodes on the way that nothing takes the place of. */
  readonly omitted: readonly number[];
  /** What asks for the shape of the cache. */
  readonly sizes: readonly SizeNode[];
  /** A MatMul whose second operand is the cache. */
  readonly product: PlacedNode;
  /** Where the tokens are in that operand: its columns, or its rows, over which the product sums. */
  readonly tokensAre: 'columns' | 'rows';
}

/** A Shape of the cache, with its heads repeated so many times. */
export interface SizeNode extends PlacedNode {
  readonly headsTimes: number;
}

/** A constant, or another tensor of one element, that the cache is multiplied with or divided by. */
export interface Factor {
  readonly operator: 'Mul' | 'Div';
  readonly tensor: string;
}

/** Heads of the cache, and of the queries, as many for each of those. */
export interface Groups {
  readonly cacheHeads: number;
  readonly heads: number;
}

/** The size of the first axis. */
const rowsName = 'rows';

/** What is known of a cache on its way. */
interface Way {
  tensor: string;
  /** Where the tokens are. */
  axis: number;
  headsTimes: number;
  readonly cacheSizes: CacheSizes | undefined;
  readonly carriers: PlacedNode[];
  readonly factors: Factor[];
  readonly omitted: number[];
  readonly sizes: SizeNode[];
}

export class CacheUses {
  readonly #graph: GraphProto;
  readonly #consumers = new Map<string, number[]>();
  readonly #outputs: ReadonlySet<string>;
  readonly #scalars: ReadonlySet<string>;
  /** Of the first cache. */
  readonly #cacheShape: readonly (number | string)[];
  readonly #arithmetic: ShapeArithmetic;

  constructor(graph: GraphProto, caches: readonly JoinedCache[]) {
    this.#graph = graph;
    for (const [index, { inputs }] of graph.nodes.entries()) {
      for (const name of inputs) this.#consumers.set(name, [...(this.#consumers.get(name) ?? []), index]);
    }
    this.#outputs = new Set(graph.outputs.map(({ name }) => name));
    this.#scalars = new Set(scalarNames(graph));
    this.#cacheShape = graph.inputs.find(({ name }) => name === caches[0]?.past)?.shape ?? [];
    this.#arithmetic = new ShapeArithmetic(graph, this.#knownSizes(caches));
  }

  /** Undefined: something else reads the cache, or it is joined in another way. */
  takeUse(cache: JoinedCache): CacheUse | undefined {
    const index = this.#graph.nodes.findIndex(({ outputs }) => outputs[0] === cache.joined);
    const axis = this.#graph.nodes[index]?.attributes.get('axis');
    const past = this.#graph.inputs.find(({ name }) => name === cache.past);
    if (axis?.kind !== 'integer' || past?.shape?.length !== rank) return undefined;
    if (axis.value !== tokensAxis && axis.value !== tokensAxis - rank) return undefined;
    const way: Way = {
      tensor: cache.joined,
      axis: tokensAxis,
      headsTimes: 1,
      cacheSizes: this.#sizesOf(cache),
      carriers: [],
      factors: [],
      omitted: [],
      sizes: [],
    };
    for (;;) {
      // Graph outputs that are caches were cut; what follows them may be an output of its own.
      if (way.tensor !== cache.joined && this.#outputs.has(way.tensor)) return undefined;
      const reader = this.#takeReader(way);
      if (reader === undefined) return undefined;
      const { node } = reader;
      if (node.operator === 'MatMul' && node.inputs.indexOf(way.tensor) === 1) {
        if (way.axis !== rank - 1 && way.axis !== tokensAxis) return undefined;
        const tokensAre = way.axis === rank - 1 ? 'columns' : 'rows';
        return { ...way, join: index, cache, groups: groupsOf(way), product: reader, tokensAre };
      }
      if (!this.#passes(way, reader)) return undefined;
    }
  }

  /** The only node that reads the cache, apart from those that ask for its shape. */
  #takeReader(way: Way): PlacedNode | undefined {
    const readers = (this.#consumers.get(way.tensor) ?? []).map((index) => ({
      index,
      node: this.#graph.nodes[index] as NodeProto,
    }));
    const [reader, ...others] = readers.filter(({ node }) => !isShape(node));
    if (reader === undefined || others.length > 0) return undefined;
    const shapes = readers.filter(({ node }) => isShape(node));
    if (shapes.length > 0 && (way.carriers.length > 0 || way.cacheSizes === undefined)) return undefined;
    way.sizes.push(...shapes.map((shape) => ({ ...shape, headsTimes: way.headsTimes })));
    return reader.node.domain === '' && reader.node.outputs.length === 1 ? reader : undefined;
  }

  /** Goes on behind a node that moves, scales or repeats the cache; false: it does something else. */
  #passes(way: Way, reader: PlacedNode): boolean {
    const { index, node } = reader;
    const input = node.inputs.indexOf(way.tensor);
    if (node.operator === 'Transpose') {
      const order = node.attributes.get('perm');
      if (order?.kind !== 'integers' || order.value.length !== rank) return false;
      if (way.headsTimes > 1 && order.value.slice(0, 2).join() !== '0,1') return false;
      way.axis = order.value.indexOf(way.axis);
      way.carriers.push(reader);
    } else if (this.#isScaling(node, input)) {
      way.factors.push({ operator: node.operator as 'Mul' | 'Div', tensor: node.inputs[1 - input] as string });
      way.omitted.push(index);
    } else {
      return this.#passesRepetition(way, reader);
    }
    way.tensor = node.outputs[0] as string;
    return true;
  }

  #passesRepetition(way: Way, unsqueeze: PlacedNode): boolean {
    const expand = this.#soleReader(unsqueeze);
    const reshape = expand && this.#soleReader(expand);
    const { cacheSizes } = way;
    if (cacheSizes === undefined || expand === undefined || reshape === undefined) return false;
    if (way.headsTimes > 1 || way.carriers.length > 0) return false;
    const times = takeRepetition([unsqueeze.node, expand.node, reshape.node], cacheSizes, this.#arithmetic);
    if (times === undefined) return false;
    way.headsTimes = times;
    way.omitted.push(unsqueeze.index, expand.index, reshape.index);
    way.tensor = reshape.node.outputs[0] as string;
    return true;
  }

  /** The only node that reads the output of this one, as its first input. */
  #soleReader({ node }: PlacedNode): PlacedNode | undefined {
    const [output] = node.outputs as [string];
    const [index, ...others] = this.#consumers.get(output) ?? [];
    if (index === undefined || others.length > 0 || this.#outputs.has(output)) return undefined;
    const reader = this.#graph.nodes[index] as NodeProto;
    return reader.domain === '' && reader.outputs.length === 1 && reader.inputs.indexOf(output) === 0
      ? { index, node: reader }
      : undefined;
  }

  #isScaling({ operator, inputs }: NodeProto, input: number): boolean {
    const factor = inputs[1 - input] ?? '';
    const isScaled = operator === 'Mul' || (operator === 'Div' && input === 0);
    return isScaled && (this.#scalars.has(factor) || this.#arithmetic.takeElements(factor)?.length === 1);
  }

  /** Undefined: it has other heads than the first cache, or how many is not known. */
  #sizesOf({ past, joined }: JoinedCache): CacheSizes | undefined {
    const shape = this.#graph.inputs.find(({ name }) => name === past)?.shape;
    const [, heads, , headSize] = shape ?? [];
    if (shape?.length !== rank || typeof heads !== 'number' || typeof headSize !== 'number') return undefined;
    if (heads !== this.#cacheShape[1] || headSize !== this.#cacheShape[3]) return undefined;
    return [rowsName, heads, `${joined}[${tokensAxis}]`, headSize];
  }

  /** Of joined caches and of inputs. What has rows has as many as the caches. */
  #knownSizes(caches: readonly JoinedCache[]): ReadonlyMap<string, readonly ShapeElement[]> {
    const [rows] = this.#cacheShape;
    const known = new Map<string, readonly ShapeElement[]>();
    for (const { name, shape } of this.#graph.inputs) {
      const sizes = shape?.map((size, axis) => {
        if (typeof size === 'number') return size;
        return axis === 0 && size !== '' && size === rows ? rowsName : undefined;
      });
      if (sizes !== undefined) known.set(name, sizes);
    }
    for (const cache of caches) {
      const sizes = this.#sizesOf(cache);
      if (sizes !== undefined) known.set(cache.joined, sizes);
    }
    return known;
  }
}

function groupsOf({ headsTimes, cacheSizes }: Way): Groups | undefined {
  if (headsTimes === 1 || cacheSizes === undefined) return undefined;
  return { cacheHeads: cacheSizes[1], heads: cacheSizes[1] * headsTimes };
}

/** Of all axes. */
function isShape({ operator, domain, attributes, outputs }: NodeProto): boolean {
  return operator === 'Shape' && domain === '' && attributes.size === 0 && outputs.length === 1;
}

/** Constants of one element. */
function scalarNames({ nodes, initializers, inputs }: GraphProto): string[] {
  const isScalar = (shape: readonly number[]): boolean => shape.length <= rank && shape.every((size) => size === 1);
  const names = [...initializers.values()].filter(({ shape }) => isScalar(shape)).map(({ name }) => name);
  for (const { operator, attributes, outputs } of nodes) {
    if (operator !== 'Constant') continue;
    const value = attributes.get('value');
    const isPlain = attributes.has('value_float') || attributes.has('value_int');
    if (isPlain || (value?.kind === 'tensor' && isScalar(value.value.shape))) names.push(outputs[0] as string);
  }
  // An input with a default may be given in another shape.
  return names.filter((name) => !inputs.some((input) => input.name === name));
}
