/**
 * Attention over a cache joins the keys and values of earlier tokens with the new ones, which copies the whole cache in every run. Here
 * the products with both parts are computed apart, and only scores and sums are joined, which are small:
 *
 *     query × [past, new]ᵀ            becomes  [query × pastᵀ, query × newᵀ]
 *     [weights, weights'] × [past; new]  becomes  weights × past + weights' × new
 *
 * Where several heads of queries share one of the cache, it is not repeated for them: they become rows of one product. A factor of the
 * cache becomes one of the query or the weights.
 */
import { byteSourceFromBytes } from './byte-source.ts';
import { type CacheUse, CacheUses, type Factor, type Groups, type JoinedCache, tokensAxis } from './cache-use.ts';
import type { AttributeValue, GraphProto, ModelProto, NodeProto } from './model/model-proto.ts';
import { readModelProto } from './model/read-model-proto.ts';
import { integerAttribute, integersAttribute, integersField, nodeField } from './node-field.ts';
import { OnnxFileError } from './onnx-file-error.ts';
import { unreadNodes } from './unread-nodes.ts';
import type { Chunks } from './wire-writer.ts';

/** By the position of a node in the graph, the nodes that stand in its place. */
export type NodeReplacements = ReadonlyMap<number, Chunks>;

/** Since then the sizes of a Split are an input. */
const opsetMin = 13;

/**
 * What replaces the joins of these caches, and the nodes up to the product that each is used in. A cache that is used in another way stays
 * as it is. The caches have the same number of tokens as each other.
 */
export async function planSplitAttention(bytes: Uint8Array, caches: readonly JoinedCache[]): Promise<NodeReplacements> {
  try {
    const model = await readModelProto(byteSourceFromBytes(bytes));
    return isPossible(model) ? new SplitPlan(model.graph).made(caches) : new Map();
  } catch (error) {
    // The graph is over the limits of an analysis; it can be run as it is.
    if (error instanceof OnnxFileError) return new Map();
    throw error;
  }
}

function isPossible({ graph, opsets }: ModelProto): boolean {
  // Subgraphs may read tensors of the graph around them.
  const hasSubgraphs = graph.nodes.some(({ attributes }) => [...attributes.values()].some(mayHoldGraph));
  return !hasSubgraphs && (opsets.get('') ?? 0) >= opsetMin;
}

function mayHoldGraph({ kind }: AttributeValue): boolean {
  return kind === 'graph' || kind === 'other';
}

const sizesName = 'sizes of cache and new tokens';
const shapeName = (headsTimes: number): string => `shape of cache and new tokens, heads times ${headsTimes}`;
const pastOf = (name: string): string => `${name} of the cache`;
const addedOf = (name: string): string => `${name} of new tokens`;

class SplitPlan {
  readonly #graph: GraphProto;
  readonly #replacements = new Map<number, Chunks>();
  /** Of the products over tokens, the first in the order of the graph: the sizes are computed there. */
  readonly #sums: { readonly cache: JoinedCache; readonly use: CacheUse }[] = [];

  constructor(graph: GraphProto) {
    this.#graph = graph;
  }

  made(caches: readonly JoinedCache[]): NodeReplacements {
    const found = new CacheUses(this.#graph, caches);
    const uses = caches.flatMap((cache) => found.takeUse(cache) ?? []).sort((left, right) => left.join - right.join);
    for (const use of uses) this.#split(use);
    this.#sums.sort((left, right) => left.use.product.index - right.use.product.index);
    for (const [order, { cache, use }] of this.#sums.entries()) {
      this.#replacements.set(use.product.index, [...(order === 0 ? sizeNodes(cache) : []), ...sumNodes(use, cache)]);
    }
    this.#omitUnread(caches, uses);
    this.#giveShapes(uses.filter(({ sizes }) => sizes.length > 0));
    return this.#replacements;
  }

  #split(use: CacheUse): void {
    const { cache, join, carriers, product, tokensAre, omitted, sizes } = use;
    for (const at of [join, ...omitted]) this.#replacements.set(at, []);
    for (const { index, node, headsTimes } of sizes) {
      this.#replacements.set(index, nodeField('Identity', [shapeName(headsTimes)], node.outputs));
    }
    let part = { ...cache };
    for (const { index, node } of carriers) {
      const [output] = node.outputs as [string];
      const next = { joined: output, past: pastOf(output), added: addedOf(output) };
      this.#replacements.set(index, [
        ...turnedNode(node, part.past, next.past),
        ...turnedNode(node, part.added, next.added),
      ]);
      part = next;
    }
    if (tokensAre === 'columns') this.#replacements.set(product.index, scoreNodes(use, part));
    else this.#sums.push({ cache: part, use });
  }

  /** Leaves out what only computed the shapes of nodes that are left out. */
  #omitUnread(caches: readonly JoinedCache[], uses: readonly CacheUse[]): void {
    const omitted = [...this.#replacements].flatMap(([index, nodes]) => (nodes.length === 0 ? [index] : []));
    const kept = new Set([
      ...this.#graph.outputs.map(({ name }) => name),
      ...caches.map(({ added }) => added),
      ...uses.flatMap(({ factors }) => factors.map(({ tensor }) => tensor)),
      ...uses.flatMap(({ carriers }) => carriers.flatMap(({ node }) => node.outputs)),
    ]);
    for (const index of unreadNodes(this.#graph, omitted, kept)) this.#replacements.set(index, []);
  }

  /** Computes the shapes that are still asked for where the first of these caches was joined: each is asked for behind its own join. */
  #giveShapes(uses: readonly CacheUse[]): void {
    const [first] = uses;
    const asked = uses.flatMap(({ sizes }) => sizes).filter(({ index }) => this.#replacements.get(index)?.length !== 0);
    if (first === undefined || asked.length === 0) return;
    const times = new Set(asked.map(({ headsTimes }) => headsTimes));
    this.#replacements.set(first.join, shapeNodes(first.cache, times));
  }
}

function turnedNode({ operator, attributes }: NodeProto, from: string, to: string): Chunks {
  const order = attributes.get('perm');
  return nodeField(operator, [from], [to], order?.kind === 'integers' ? integersAttribute('perm', order.value) : []);
}

function scoreNodes({ product, factors, groups }: CacheUse, { past, added }: JoinedCache): Chunks {
  const [scores] = product.node.outputs as [string];
  const query = firstOperand(product.node, factors, groups);
  const parts = [pastOf(scores), addedOf(scores)];
  return [
    ...query.nodes,
    ...nodeField('MatMul', [query.tensor, past], [pastOf(scores)]),
    ...nodeField('MatMul', [query.tensor, added], [addedOf(scores)]),
    ...ungrouped(groups, scores, (result) => nodeField('Concat', parts, [result], integerAttribute('axis', -1))),
  ];
}

function sumNodes({ product, factors, groups }: CacheUse, { past, added }: JoinedCache): Chunks {
  const [sums] = product.node.outputs as [string];
  const weights = firstOperand(product.node, factors, groups);
  // Two caches may be weighted alike, so the parts are named after the product.
  const [pastWeights, addedWeights] = [`weights for ${pastOf(sums)}`, `weights for ${addedOf(sums)}`];
  return [
    ...weights.nodes,
    ...nodeField('Split', [weights.tensor, sizesName], [pastWeights, addedWeights], integerAttribute('axis', -1)),
    ...nodeField('MatMul', [pastWeights, past], [pastOf(sums)]),
    ...nodeField('MatMul', [addedWeights, added], [addedOf(sums)]),
    ...ungrouped(groups, sums, (result) => nodeField('Add', [pastOf(sums), addedOf(sums)], [result])),
  ];
}

/** Scaled, and with the rows of all heads that share one of the cache behind each other. */
function firstOperand(
  { inputs, outputs }: NodeProto,
  factors: readonly Factor[],
  groups: Groups | undefined,
): { readonly nodes: Chunks; readonly tensor: string } {
  const [product] = outputs as [string];
  const nodes: Uint8Array[] = [];
  let [tensor] = inputs as [string];
  for (const [order, { operator, tensor: factor }] of factors.entries()) {
    const scaled = `factor ${order} for ${product}`;
    nodes.push(...nodeField(operator, [tensor, factor], [scaled]));
    tensor = scaled;
  }
  if (groups === undefined) return { nodes, tensor };
  const grouped = `groups for ${product}`;
  nodes.push(...headsField(tensor, grouped, groups.cacheHeads));
  return { nodes, tensor: grouped };
}

/** @param make the nodes that give the result, in groups where there are some */
function ungrouped(groups: Groups | undefined, result: string, make: (result: string) => Chunks): Chunks {
  if (groups === undefined) return make(result);
  return [...make(`groups of ${result}`), ...headsField(`groups of ${result}`, result, groups.heads)];
}

/** Another number of heads on the second axis: what is left goes to the third. */
function headsField(from: string, to: string, heads: number): Chunks {
  const shape = `shape for ${to}`;
  return [...integersField(shape, [0, heads, -1, 0]), ...nodeField('Reshape', [from, shape], [to])];
}

/** How many tokens the cache has, and how many are new. */
function sizeNodes({ past, added }: JoinedCache): Chunks {
  const axis = `axis for ${sizesName}`;
  const sizeOf = (tensor: string, size: string): Chunks => [
    ...nodeField('Shape', [tensor], [`shape for ${size}`]),
    ...nodeField('Gather', [`shape for ${size}`, axis], [size]),
  ];
  return [
    ...integersField(axis, [tokensAxis]),
    ...sizeOf(past, pastOf(sizesName)),
    ...sizeOf(added, addedOf(sizesName)),
    ...nodeField('Concat', [pastOf(sizesName), addedOf(sizesName)], [sizesName], integerAttribute('axis', 0)),
  ];
}

/** The shape that the caches would have if they were joined, and their heads repeated so many times. */
function shapeNodes({ past, added }: JoinedCache, times: ReadonlySet<number>): Chunks {
  const name = 'shape of cache and new tokens';
  const tokens = `tokens for ${name}`;
  return [
    ...nodeField('Shape', [past], [pastOf(name)]),
    ...nodeField('Shape', [added], [addedOf(name)]),
    ...integersField(`axis for ${name}`, [0, 0, 1, 0]),
    ...nodeField('Mul', [addedOf(name), `axis for ${name}`], [tokens]),
    ...nodeField('Add', [pastOf(name), tokens], [name]),
    ...[...times].flatMap((headsTimes) => [
      ...integersField(`factors for ${shapeName(headsTimes)}`, [1, headsTimes, 1, 1]),
      ...nodeField('Mul', [name, `factors for ${shapeName(headsTimes)}`], [shapeName(headsTimes)]),
    ]),
  ];
}
