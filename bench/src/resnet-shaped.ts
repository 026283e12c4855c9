/**
 * A network of ResNet-50's shape: the same convolutions, additions and sizes, so it takes as long. Its weights are all
 * alike, and are written as one number each that the engine expands when it loads the model: a small file.
 */
import { type OnnxConstant, type OnnxNode, onnxModelFrom } from '@millrace/worker/testing';

const stages = [
  { blocks: 3, width: 64 },
  { blocks: 4, width: 128 },
  { blocks: 6, width: 256 },
  { blocks: 3, width: 512 },
] as const;
/** Channels that a block gives, for each that its middle has. */
const expansion = 4;
const classes = 1000;

class Network {
  readonly nodes: OnnxNode[] = [];
  readonly constants: OnnxConstant[] = [];
  #count = 0;

  weights(shape: readonly number[]): string {
    const name = this.#name('w');
    // Sums stay of the size of their inputs, whatever is added up.
    const value = 1 / shape.slice(1).reduce((product, size) => product * size, 1);
    this.constant(`${name}_value`, 'FP32', [1], new Uint8Array(Float32Array.of(value).buffer));
    this.constant(
      `${name}_shape`,
      'INT64',
      [shape.length],
      new Uint8Array(BigInt64Array.from(shape.map(BigInt)).buffer),
    );
    this.nodes.push({ operator: 'Expand', inputs: [`${name}_value`, `${name}_shape`], outputs: [name] });
    return name;
  }

  constant(name: string, datatype: OnnxConstant['datatype'], shape: readonly number[], data: Uint8Array): void {
    this.constants.push({ name, datatype, shape, data });
  }

  add(operator: string, inputs: readonly string[], attributes: OnnxNode['attributes'] = {}): string {
    const output = this.#name(operator.toLowerCase());
    this.nodes.push({ operator, inputs, outputs: [output], attributes });
    return output;
  }

  convolution(input: string, from: number, to: number, size: number, stride: number): string {
    const pad = (size - 1) / 2;
    const attributes = { kernel_shape: [size, size], strides: [stride, stride], pads: [pad, pad, pad, pad] };
    return this.add('Conv', [input, this.weights([to, from, size, size])], attributes);
  }

  block(input: string, from: number, width: number, stride: number): string {
    const to = width * expansion;
    const narrow = this.add('Relu', [this.convolution(input, from, width, 1, 1)]);
    const middle = this.add('Relu', [this.convolution(narrow, width, width, 3, stride)]);
    const wide = this.convolution(middle, width, to, 1, 1);
    const shortcut = from === to && stride === 1 ? input : this.convolution(input, from, to, 1, stride);
    return this.add('Relu', [this.add('Add', [wide, shortcut])]);
  }

  #name(kind: string): string {
    this.#count += 1;
    return `${kind}_${this.#count}`;
  }
}

export function resnetShapedModel(): Uint8Array {
  const network = new Network();
  const pool = { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] };
  let at = network.add('MaxPool', [network.add('Relu', [network.convolution('image', 3, 64, 7, 2)])], pool);
  let channels = 64;
  for (const [stage, { blocks, width }] of stages.entries()) {
    for (let block = 0; block < blocks; block++) {
      at = network.block(at, channels, width, stage > 0 && block === 0 ? 2 : 1);
      channels = width * expansion;
    }
  }
  const pooled = network.add('Flatten', [network.add('GlobalAveragePool', [at])], { axis: 1 });
  network.nodes.push({
    operator: 'Gemm',
    inputs: [pooled, network.weights([classes, channels])],
    outputs: ['scores'],
    attributes: { transB: 1 },
  });
  return onnxModelFrom({
    inputs: [{ name: 'image', datatype: 'FP32', shape: ['batch', 3, 224, 224] }],
    outputs: [{ name: 'scores', datatype: 'FP32', shape: ['batch', classes] }],
    nodes: network.nodes,
    constants: network.constants,
  });
}
