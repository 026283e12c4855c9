/**
 * Attention over a cache joins the keys and values of earlier tokens with the new ones, which copies the whole cache in every run. Here
 * the products with both parts are computed apart, and only scores and sums are joined, which are small:
 *
 *     query × [past, new]ᵀ            becomes  [query × pastᵀ, query × newᵀ]
 *     [weights, weights'] × [past; new]  becomes  weights × past + weights' × new
 */
import { byteSourceFromBytes } from './byte-source.ts';
import type { AttributeValue, GraphProto, ModelProto, NodeProto } from './model/model-proto.ts';
import { readModelProto } from './model/read-model-proto.ts';
import { OnnxFileError } from './onnx-file-error.ts';
import { type Chunks, delimitedField, signedField, textField } from './wire-writer.ts';

/** A cache as the graph joins it: `joined` is the Concat of the graph input `past` and of `added`. */
export interface JoinedCache {
  readonly joined: string;
  readonly past: string;
  readonly added: string;
}

/** By the position of a node in the graph, the nodes that stand in its place. */
export type NodeReplacements = ReadonlyMap<number, Chunks>;

/** Since then the sizes of a Split are an input. */
const opsetMin = 13;
/** Caches are rows, heads, tokens, size of a head. */
const rank = 4;
const tokensAxis = 2;

/**
 * What replaces the joins of these caches, and the nodes up to the product that each is used in. A cache that is used in another way stays
 * as it is. The caches have the same number of tokens as each other.
 */
export async function planSplitAttention(bytes: Uint8Array, caches: readonly JoinedCache[]): Promise<NodeReplacements> {
  try {
    return new SplitPlan(await readModelProto(byteSourceFromBytes(bytes))).made(caches);
  } catch (error) {
    // The graph is over the limits of an analysis; it can be run as it is.
    if (error instanceof OnnxFileError) return new Map();
    throw error;
  }
}

/** A node that only moves or scales the values of the cache. */
interface Carrier {
  readonly index: number;
  readonly node: NodeProto;
  /** Which of its inputs is the cache. */
  readonly input: number;
}

interface Use {
  readonly carriers: readonly Carrier[];
  /** A MatMul whose second operand is the cache. */
  readonly product: { readonly index: number; readonly node: NodeProto };
  /** Where the tokens are in that operand: its columns, or its rows, over which the product sums. */
  readonly tokensAre: 'columns' | 'rows';
}

const sizesName = 'sizes of cache and new tokens';
const pastOf = (name: string): string => `${name} of the cache`;
const addedOf = (name: string): string => `${name} of new tokens`;

class SplitPlan {
  readonly #graph: GraphProto;
  readonly #isPossible: boolean;
  readonly #consumers = new Map<string, number[]>();
  readonly #outputs: ReadonlySet<string>;
  readonly #scalars: ReadonlySet<string>;
  readonly #replacements = new Map<number, Chunks>();
  /** Of the products over tokens, the first in the order of the graph: the sizes are computed there. */
  readonly #sums: { readonly index: number; readonly cache: JoinedCache; readonly node: NodeProto }[] = [];

  constructor({ graph, opsets }: ModelProto) {
    this.#graph = graph;
    // Subgraphs may read tensors of the graph around them.
    const hasSubgraphs = graph.nodes.some(({ attributes }) => [...attributes.values()].some(mayHoldGraph));
    this.#isPossible = !hasSubgraphs && (opsets.get('') ?? 0) >= opsetMin;
    for (const [index, { inputs }] of graph.nodes.entries()) {
      for (const name of inputs) this.#consumers.set(name, [...(this.#consumers.get(name) ?? []), index]);
    }
    this.#outputs = new Set(graph.outputs.map(({ name }) => name));
    this.#scalars = new Set(scalarNames(graph));
  }

  made(caches: readonly JoinedCache[]): NodeReplacements {
    if (!this.#isPossible) return new Map();
    for (const cache of caches) this.#split(cache);
    this.#sums.sort((left, right) => left.index - right.index);
    for (const [order, { index, cache, node }] of this.#sums.entries()) {
      this.#replacements.set(index, [...(order === 0 ? sizeNodes(cache) : []), ...sumNodes(node, cache)]);
    }
    return this.#replacements;
  }

  #split(cache: JoinedCache): void {
    const index = this.#graph.nodes.findIndex(({ outputs }) => outputs[0] === cache.joined);
    const join = this.#graph.nodes[index];
    const axis = join?.attributes.get('axis');
    const past = this.#graph.inputs.find(({ name }) => name === cache.past);
    if (join === undefined || axis?.kind !== 'integer' || past?.shape?.length !== rank) return;
    if (axis.value !== tokensAxis && axis.value !== tokensAxis - rank) return;
    const use = this.#useOf(cache.joined);
    if (use === undefined) return;
    const { carriers, product, tokensAre } = use;
    this.#replacements.set(index, []);
    let part = { ...cache };
    for (const { index: at, node, input } of carriers) {
      const [output] = node.outputs as [string];
      const next = { joined: output, past: pastOf(output), added: addedOf(output) };
      this.#replacements.set(at, [
        ...carrierNode(node, input, part.past, next.past),
        ...carrierNode(node, input, part.added, next.added),
      ]);
      part = next;
    }
    if (tokensAre === 'columns') this.#replacements.set(product.index, scoreNodes(product.node, part));
    else this.#sums.push({ index: product.index, cache: part, node: product.node });
  }

  /** Follows the joined cache to the product that it is used in; undefined: something else reads it. */
  #useOf(joined: string): Use | undefined {
    const carriers: Carrier[] = [];
    let tensor = joined;
    let axis = tokensAxis;
    for (;;) {
      const [index, ...others] = this.#consumers.get(tensor) ?? [];
      // Graph outputs that are caches were cut; what follows them may be an output of its own.
      if (index === undefined || others.length > 0 || (tensor !== joined && this.#outputs.has(tensor)))
        return undefined;
      const node = this.#graph.nodes[index] as NodeProto;
      const input = node.inputs.indexOf(tensor);
      if (node.domain !== '' || node.outputs.length !== 1) return undefined;
      if (node.operator === 'MatMul' && input === 1) {
        if (axis !== rank - 1 && axis !== tokensAxis) return undefined;
        return { carriers, product: { index, node }, tokensAre: axis === rank - 1 ? 'columns' : 'rows' };
      }
      const movedTo = this.#carriedAxis(node, input, axis);
      if (movedTo === undefined) return undefined;
      axis = movedTo;
      carriers.push({ index, node, input });
      tensor = node.outputs[0] as string;
    }
  }

  /** Where the axis is after a node that moves or scales; undefined: the node does something else. */
  #carriedAxis({ operator, inputs, attributes }: NodeProto, input: number, axis: number): number | undefined {
    if (operator === 'Transpose') {
      const order = attributes.get('perm');
      return order?.kind === 'integers' && order.value.length === rank ? order.value.indexOf(axis) : undefined;
    }
    const isScaled = operator === 'Mul' || (operator === 'Div' && input === 0);
    return isScaled && this.#scalars.has(inputs[1 - input] ?? '') ? axis : undefined;
  }
}

function mayHoldGraph({ kind }: AttributeValue): boolean {
  return kind === 'graph' || kind === 'other';
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

/** The node with another tensor in place of the cache. */
function carrierNode({ operator, inputs, attributes }: NodeProto, input: number, from: string, to: string): Chunks {
  const order = attributes.get('perm');
  return nodeField(
    operator,
    inputs.map((name, index) => (index === input ? from : name)),
    [to],
    order?.kind === 'integers' ? integersAttribute('perm', order.value) : [],
  );
}

function scoreNodes({ inputs, outputs }: NodeProto, { past, added }: JoinedCache): Chunks {
  const [query, [scores]] = [inputs[0] as string, outputs as [string]];
  return [
    ...nodeField('MatMul', [query, past], [pastOf(scores)]),
    ...nodeField('MatMul', [query, added], [addedOf(scores)]),
    ...nodeField('Concat', [pastOf(scores), addedOf(scores)], [scores], integerAttribute('axis', -1)),
  ];
}

function sumNodes({ inputs, outputs }: NodeProto, { past, added }: JoinedCache): Chunks {
  const [weights, [sums]] = [inputs[0] as string, outputs as [string]];
  // Two caches may be weighted alike, so the parts are named after the product.
  const [pastWeights, addedWeights] = [`weights for ${pastOf(sums)}`, `weights for ${addedOf(sums)}`];
  return [
    ...nodeField('Split', [weights, sizesName], [pastWeights, addedWeights], integerAttribute('axis', -1)),
    ...nodeField('MatMul', [pastWeights, past], [pastOf(sums)]),
    ...nodeField('MatMul', [addedWeights, added], [addedOf(sums)]),
    ...nodeField('Add', [pastOf(sums), addedOf(sums)], [sums]),
  ];
}

/** How many tokens the cache has, and how many are new. */
function sizeNodes({ past, added }: JoinedCache): Chunks {
  const axis = `axis for ${sizesName}`;
  const sizeOf = (tensor: string, size: string): Chunks => [
    ...nodeField('Shape', [tensor], [`shape for ${size}`]),
    ...nodeField('Gather', [`shape for ${size}`, axis], [size]),
  ];
  return [
    ...nodeField('Constant', [], [axis], integersAttribute('value_ints', [tokensAxis])),
    ...sizeOf(past, pastOf(sizesName)),
    ...sizeOf(added, addedOf(sizesName)),
    ...nodeField('Concat', [pastOf(sizesName), addedOf(sizesName)], [sizesName], integerAttribute('axis', 0)),
  ];
}

const nodeNumber = 1;
const attributeTypes = { integer: 2, integers: 7 } as const;

function nodeField(
  operator: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attribute: Chunks = [],
): Uint8Array[] {
  return delimitedField(nodeNumber, [
    ...inputs.flatMap((name) => textField(1, name)),
    ...outputs.flatMap((name) => textField(2, name)),
    ...textField(4, operator),
    ...attribute,
  ]);
}

function integerAttribute(name: string, value: number): Uint8Array[] {
  return delimitedField(5, [
    ...textField(1, name),
    ...signedField(3, value),
    ...signedField(20, attributeTypes.integer),
  ]);
}

function integersAttribute(name: string, values: readonly number[]): Uint8Array[] {
  return delimitedField(5, [
    ...textField(1, name),
    ...values.flatMap((value) => signedField(8, value)),
    ...signedField(20, attributeTypes.integers),
  ]);
}
