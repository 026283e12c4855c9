/** Writes a decoder like Llama with random weights as a folder that can be served: it costs what a trained one of its shape does. */
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type OnnxConstant, onnxModelFrom } from '../../testing/onnx-graph.ts';
import { storytellerFile } from '../../testing/storyteller-folder.ts';
import { type LlamaShape, llamaGraph, llamaWeights, type WeightTensor } from './llama-graph.ts';

export interface LlamaFolder {
  /** The path of its graph; the weights are in a file beside it, as exporters write large models. */
  readonly file: string;
  readonly parameters: number;
}

const weightsFile = 'model.onnx_data';
const contextTokens = 2048;
/** ONNX Runtime maps a tensor into memory where its file has one that begins at a page. */
const alignment = 4096;

/** Writes a version folder. The same seed gives the same bytes. */
export async function writeLlamaFolder(folder: string, shape: LlamaShape, seed = 1): Promise<LlamaFolder> {
  await mkdir(folder, { recursive: true });
  const constants: OnnxConstant[] = [];
  let parameters = 0;
  const weights = await open(join(folder, weightsFile), 'w');
  try {
    const random = new RandomWeights(seed);
    let offset = 0;
    for (const tensor of llamaWeights(shape)) {
      const { name } = tensor;
      const count = tensor.shape.reduce((product, size) => product * size, 1);
      constants.push({
        name,
        datatype: 'FP32',
        shape: tensor.shape,
        file: weightsFile,
        fileBytes: 4 * count,
        fileOffset: offset,
      });
      let at = offset;
      for (const chunk of random.chunks(tensor, count)) {
        await weights.write(chunk, 0, chunk.length, at);
        at += chunk.length;
      }
      offset = Math.ceil(at / alignment) * alignment;
      parameters += count;
    }
  } finally {
    await weights.close();
  }
  const file = join(folder, 'model.onnx');
  await writeFile(file, onnxModelFrom(llamaGraph(shape, constants)));
  for (const [name, text] of Object.entries(await filesBeside(shape))) await writeFile(join(folder, name), text);
  return { file, parameters };
}

const chunkElements = 1 << 20;

/** Weights that are equally probable between two bounds, by xorshift of 32 bits. */
class RandomWeights {
  #state: number;
  readonly #chunk = new Float32Array(chunkElements);

  constructor(seed: number) {
    // 0 would give nothing but zeros.
    this.#state = Math.imul(seed, 0x9e3779b1) | 1;
  }

  /** Each is valid until the next. */
  *chunks({ mean, deviation }: WeightTensor, count: number): Generator<Uint8Array> {
    const chunk = this.#chunk;
    // The deviation of numbers between -1 and 1 is the root of a third.
    const scale = (deviation * Math.sqrt(3)) / 2 ** 31;
    let state = this.#state;
    for (let left = count; left > 0; left -= chunkElements) {
      const length = Math.min(left, chunkElements);
      for (let index = 0; index < length; index++) {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        chunk[index] = mean + state * scale;
      }
      yield new Uint8Array(chunk.buffer, 0, 4 * length);
    }
    this.#state = state;
  }
}

/** The tokenizer of the storyteller, with tokens of no meaning up to the size of the vocabulary: texts are never read as them. */
async function filesBeside(shape: LlamaShape): Promise<Readonly<Record<string, string>>> {
  const folder = dirname(storytellerFile);
  const tokenizer = JSON.parse(await readFile(join(folder, 'tokenizer.json'), 'utf8')) as {
    readonly model: { readonly vocab: Record<string, number> };
  };
  const { vocab } = tokenizer.model;
  for (let id = Object.keys(vocab).length; id < shape.vocabulary; id++) vocab[`Ġ${id}`] = id;
  const config = {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    vocab_size: shape.vocabulary,
    hidden_size: shape.width,
    intermediate_size: shape.innerWidth,
    num_hidden_layers: shape.layers,
    num_attention_heads: shape.heads,
    num_key_value_heads: shape.cacheHeads,
    max_position_embeddings: contextTokens,
    rms_norm_eps: 1e-5,
    hidden_act: 'silu',
    tie_word_embeddings: true,
    bos_token_id: 0,
    eos_token_id: 0,
  };
  return {
    'config.json': JSON.stringify(config),
    'generation_config.json': '{"bos_token_id": 0, "eos_token_id": 0, "do_sample": false}',
    'tokenizer.json': JSON.stringify(tokenizer),
    'tokenizer_config.json': JSON.stringify({
      model_max_length: contextTokens,
      bos_token: '<|end|>',
      eos_token: '<|end|>',
    }),
  };
}
