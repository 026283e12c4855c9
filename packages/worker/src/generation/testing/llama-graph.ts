/**
 * The graph of a decoder like Llama, in the form in which Hugging Face's exporter writes it: RMS norms, rotary positions, SwiGLU, tied
 * embeddings, and keys and values that are repeated for the queries that share them.
 */
import type { OnnxConstant, OnnxNode, OnnxValue, WrittenGraph } from '../../testing/onnx-graph.ts';

export interface LlamaShape {
  readonly layers: number;
  readonly width: number;
  /** Heads of queries. */
  readonly heads: number;
  /** Heads of keys and values: as many, or a part of them. */
  readonly cacheHeads: number;
  /** Inside of the layer that is not attention. */
  readonly innerWidth: number;
  readonly vocabulary: number;
}

/** The smallest decoders that are widely used have this shape: 134,515,008 parameters. */
export const smallLlamaShape: LlamaShape = {
  layers: 30,
  width: 576,
  heads: 9,
  cacheHeads: 3,
  innerWidth: 1536,
  vocabulary: 49_152,
};

/** A tensor of weights, which are drawn at random. */
export interface WeightTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /** The mean; weights lie around it. */
  readonly mean: number;
  readonly deviation: number;
}

/** All of them, each once: the table of embeddings also gives the logits. */
export function llamaWeights({
  layers,
  width,
  heads,
  cacheHeads,
  innerWidth,
  vocabulary,
}: LlamaShape): readonly WeightTensor[] {
  const cacheWidth = (width / heads) * cacheHeads;
  const matrix = (name: string, rows: number, columns: number): WeightTensor => ({
    name,
    shape: [rows, columns],
    mean: 0,
    // Products stay of the size of what is multiplied.
    deviation: 1 / Math.sqrt(rows),
  });
  const norm = (name: string): WeightTensor => ({ name, shape: [width], mean: 1, deviation: 0.1 });
  const weights = [{ ...matrix(embeddings, vocabulary, width), deviation: 0.02 }, norm('model.norm.weight')];
  for (let layer = 0; layer < layers; layer++) {
    weights.push(
      norm(weightName(layer, 'input_layernorm')),
      matrix(weightName(layer, 'self_attn.q_proj'), width, width),
      matrix(weightName(layer, 'self_attn.k_proj'), width, cacheWidth),
      matrix(weightName(layer, 'self_attn.v_proj'), width, cacheWidth),
      matrix(weightName(layer, 'self_attn.o_proj'), width, width),
      norm(weightName(layer, 'post_attention_layernorm')),
      matrix(weightName(layer, 'mlp.gate_proj'), width, innerWidth),
      matrix(weightName(layer, 'mlp.up_proj'), width, innerWidth),
      matrix(weightName(layer, 'mlp.down_proj'), innerWidth, width),
    );
  }
  return weights;
}

const embeddings = 'model.embed_tokens.weight';
const weightName = (layer: number, part: string): string => `model.layers.${layer}.${part}.weight`;

/** @param weights where each tensor of `llamaWeights` is */
export function llamaGraph(shape: LlamaShape, weights: readonly OnnxConstant[]): WrittenGraph {
  const { layers, width, heads, cacheHeads, vocabulary } = shape;
  const caches = (prefix: string, tokens: string): OnnxValue[] =>
    Array.from({ length: 2 * layers }, (_, index) => ({
      name: `${prefix}.${index >> 1}.${index % 2 === 0 ? 'key' : 'value'}`,
      datatype: 'FP32',
      shape: ['batch_size', cacheHeads, tokens, width / heads],
    }));
  const integers = (name: string, tokens: string): OnnxValue => ({
    name,
    datatype: 'INT64',
    shape: ['batch_size', tokens],
  });
  const writer = new LlamaWriter(shape);
  writer.write();
  return {
    inputs: [
      integers('input_ids', 'sequence_length'),
      integers('attention_mask', 'total_sequence_length'),
      integers('position_ids', 'sequence_length'),
      ...caches('past_key_values', 'past_sequence_length'),
    ],
    outputs: [
      { name: 'logits', datatype: 'FP32', shape: ['batch_size', 'sequence_length', vocabulary] },
      ...caches('present', 'total_sequence_length'),
    ],
    nodes: writer.nodes,
    constants: [...weights, ...writer.constants],
  };
}

/** Above every score, below zero. */
const masked = -3.4028234663852886e38;
const ropeBase = 10_000;

class LlamaWriter {
  readonly nodes: OnnxNode[] = [];
  readonly constants: OnnxConstant[] = [];
  readonly #shape: LlamaShape;
  readonly #headSize: number;
  readonly #known = new Map<string, string>();
  #count = 0;

  constructor(shape: LlamaShape) {
    this.#shape = shape;
    this.#headSize = shape.width / shape.heads;
  }

  write(): void {
    const { layers } = this.#shape;
    const mask = this.#mask();
    const turn = this.#rotation();
    let state = this.#node('Gather', [embeddings, 'input_ids']);
    for (let layer = 0; layer < layers; layer++) {
      const heard = this.#norm(state, weightName(layer, 'input_layernorm'));
      state = this.#node('Add', [state, this.#attention(layer, heard, mask, turn)]);
      const read = this.#norm(state, weightName(layer, 'post_attention_layernorm'));
      state = this.#node('Add', [state, this.#gated(layer, read)]);
    }
    const table = this.#node('Transpose', [embeddings], { perm: [1, 0] });
    this.#node('MatMul', [this.#norm(state, 'model.norm.weight'), table], {}, 'logits');
  }

  /** What is added to scores: [rows, 1, new tokens, all tokens]. */
  #mask(): string {
    const past = this.#sizeOf('past_key_values.0.key', 2);
    const count = this.#sizeOf('input_ids', 1);
    const total = this.#node('Add', [past, count]);
    const [zero, one] = [this.#integer(0), this.#integer(1)];
    const columns = this.#node('Unsqueeze', [this.#node('Range', [zero, total, one]), this.#integers(0)]);
    const rows = this.#node('Unsqueeze', [this.#node('Range', [past, total, one]), this.#integers(1)]);
    const isBefore = this.#node('LessOrEqual', [columns, rows]);
    const isToken = this.#node('Unsqueeze', [
      this.#node('Cast', ['attention_mask'], { to: booleanType }),
      this.#integers(1, 2),
    ]);
    const isSeen = this.#node('And', [isBefore, isToken]);
    return this.#node('Where', [isSeen, this.#floats([0], []), this.#floats([masked], [])]);
  }

  /** Cosine and sine for each position: [rows, 1, new tokens, size of a head]. */
  #rotation(): readonly [cosine: string, sine: string] {
    const half = this.#headSize / 2;
    const frequencies = Array.from({ length: half }, (_, index) => ropeBase ** (-index / half));
    const positions = this.#node('Cast', ['position_ids'], { to: floatType });
    const column = this.#node('Unsqueeze', [positions, this.#integers(2)]);
    const angles = this.#node('Mul', [column, this.#floats(frequencies, [half])]);
    const both = this.#node('Concat', [angles, angles], { axis: -1 });
    const spread = (operator: string): string =>
      this.#node('Unsqueeze', [this.#node(operator, [both]), this.#integers(1)]);
    return [spread('Cos'), spread('Sin')];
  }

  #attention(layer: number, heard: string, mask: string, [cosine, sine]: readonly [string, string]): string {
    const { heads, cacheHeads } = this.#shape;
    const part = (name: string, count: number): string => {
      const product = this.#node('MatMul', [heard, weightName(layer, `self_attn.${name}`)]);
      const split = this.#node('Reshape', [product, this.#integers(0, 0, count, this.#headSize)]);
      return this.#node('Transpose', [split], { perm: [0, 2, 1, 3] });
    };
    const turned = (x: string): string =>
      this.#node('Add', [this.#node('Mul', [x, cosine]), this.#node('Mul', [this.#halfTurned(x), sine])]);
    const joined = (name: 'key' | 'value', added: string): string =>
      this.#node('Concat', [`past_key_values.${layer}.${name}`, added], { axis: -2 }, `present.${layer}.${name}`);
    const query = turned(part('q_proj', heads));
    const keys = this.#repeated(joined('key', turned(part('k_proj', cacheHeads))));
    const values = this.#repeated(joined('value', part('v_proj', cacheHeads)));
    // The mask may be longer than the keys.
    const length = this.#node('Unsqueeze', [this.#sizeOf(keys, 2), this.#integers(0)]);
    const seen = this.#node('Slice', [mask, this.#integers(0), length, this.#integers(3), this.#integers(1)]);
    const scale = this.#scaleOf(query);
    const columns = this.#node('Mul', [this.#node('Transpose', [keys], { perm: [0, 1, 3, 2] }), scale]);
    const scores = this.#node('MatMul', [this.#node('Mul', [query, scale]), columns]);
    const weights = this.#node('Softmax', [this.#node('Add', [scores, seen])], { axis: -1 });
    const mixed = this.#node('Transpose', [this.#node('MatMul', [weights, values])], { perm: [0, 2, 1, 3] });
    const rows = this.#node('Reshape', [mixed, this.#integers(0, 0, this.#shape.width)]);
    return this.#node('MatMul', [rows, weightName(layer, 'self_attn.o_proj')]);
  }

  /** Each head as often as there are queries for it, by the sizes of the tensor itself. */
  #repeated(joined: string): string {
    const { heads, cacheHeads } = this.#shape;
    const times = heads / cacheHeads;
    if (times === 1) return joined;
    const sizes = [0, 1, 2, 3].map((axis) => this.#sizeOf(joined, axis));
    const listed = (parts: readonly string[]): string =>
      this.#node(
        'Concat',
        parts.map((size) => this.#node('Unsqueeze', [size, this.#integers(0)])),
        { axis: 0 },
      );
    const [rows, count, tokens, size] = sizes as [string, string, string, string];
    const wanted = this.#node('Reshape', [
      listed([rows, count, this.#integer(times), tokens, size]),
      this.#integers(-1),
    ]);
    // -1 would keep a size.
    const value: OnnxConstant = { name: '', datatype: 'INT64', shape: [1], data: bytesOf(BigInt64Array.of(1n)) };
    const ones = this.#node('ConstantOfShape', [this.#node('Shape', [wanted])], { value });
    const isKept = this.#node('Equal', [wanted, this.#node('Mul', [ones, this.#integer(-1)])]);
    const shape = this.#node('Where', [isKept, ones, wanted]);
    const expanded = this.#node('Expand', [this.#node('Unsqueeze', [joined, this.#integers(2)]), shape]);
    const all = this.#node('Mul', [count, this.#integer(times)]);
    return this.#node('Reshape', [expanded, listed([rows, all, tokens, size])]);
  }

  /** The fourth root of the size of a head, inverted: queries and keys are both multiplied by it. */
  #scaleOf(query: string): string {
    const size = this.#node('Slice', [
      this.#node('Shape', [query]),
      this.#integers(-1),
      this.#integers(Number.MAX_SAFE_INTEGER),
    ]);
    const root = this.#node('Sqrt', [this.#node('Cast', [size], { to: floatType })]);
    return this.#node('Sqrt', [this.#node('Div', [this.#floats([1], [1]), root])]);
  }

  #halfTurned(x: string): string {
    const half = this.#integers(this.#headSize / 2);
    const axis = this.#integers(3);
    const first = this.#node('Slice', [x, this.#integers(0), half, axis]);
    const second = this.#node('Slice', [x, half, this.#integers(Number.MAX_SAFE_INTEGER), axis]);
    return this.#node('Concat', [this.#node('Neg', [second]), first], { axis: -1 });
  }

  #gated(layer: number, read: string): string {
    const gate = this.#node('MatMul', [read, weightName(layer, 'mlp.gate_proj')]);
    const opened = this.#node('Mul', [gate, this.#node('Sigmoid', [gate])]);
    const inner = this.#node('Mul', [opened, this.#node('MatMul', [read, weightName(layer, 'mlp.up_proj')])]);
    return this.#node('MatMul', [inner, weightName(layer, 'mlp.down_proj')]);
  }

  #norm(x: string, weight: string): string {
    const squares = this.#node('Pow', [x, this.#floats([2], [])]);
    const mean = this.#node('ReduceMean', [squares], { axes: [-1], keepdims: 1 });
    const root = this.#node('Sqrt', [this.#node('Add', [mean, this.#floats([1e-5], [])])]);
    const scaled = this.#node('Mul', [x, this.#node('Div', [this.#floats([1], []), root])]);
    return this.#node('Mul', [weight, scaled]);
  }

  #sizeOf(tensor: string, axis: number): string {
    return this.#node('Gather', [this.#node('Shape', [tensor]), this.#integer(axis)], { axis: 0 });
  }

  #node(
    operator: string,
    inputs: readonly string[],
    attributes: NonNullable<OnnxNode['attributes']> = {},
    output = `/${operator}_${++this.#count}`,
  ): string {
    this.nodes.push({ operator, inputs, outputs: [output], attributes });
    return output;
  }

  #integer(value: number): string {
    return this.#constant('INT64', [], BigInt64Array.of(BigInt(value)));
  }

  #integers(...values: readonly number[]): string {
    return this.#constant('INT64', [values.length], BigInt64Array.from(values, BigInt));
  }

  #floats(values: readonly number[], shape: readonly number[]): string {
    return this.#constant('FP32', shape, Float32Array.from(values));
  }

  /** The same name for the same values. */
  #constant(
    datatype: 'INT64' | 'FP32',
    shape: readonly number[],
    values: BigInt64Array<ArrayBuffer> | Float32Array<ArrayBuffer>,
  ): string {
    const key = `${datatype} [${shape.join(', ')}] ${values.join(' ')}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const name = `constant_${this.#known.size}`;
    this.#known.set(key, name);
    this.constants.push({ name, datatype, shape, data: bytesOf(values) });
    return name;
  }
}

function bytesOf({ buffer }: BigInt64Array<ArrayBuffer> | Float32Array<ArrayBuffer>): Uint8Array {
  return new Uint8Array(buffer);
}

/** As ONNX numbers them. */
const floatType = 1;
const booleanType = 9;
