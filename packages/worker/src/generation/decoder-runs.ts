/** Runs of a decoder on caches that stay in our memory: a piece of a prompt, or one more token of several sequences. */

import type { PrefillStep, SequenceId, TokenStep } from '@millrace/generation';
import { numberFromFp16 } from '@millrace/protocol';
import { type InferenceSession, Tensor } from '../onnxruntime/onnxruntime.ts';
import { type CacheMemory, type NewTokens, takeFourByteElements } from './cache-memory.ts';
import { type CacheTensors, type DecoderTensors, elementBytesOf, type TokenInput } from './decoder-tensors.ts';

/** The logits of the last token of every row. */
export interface LastLogits {
  readonly ids: readonly SequenceId[];
  row(index: number): Float32Array;
}

/** A sequence in a run: all its tokens, and how many of them its cache has. */
export interface ReadText {
  readonly id: SequenceId;
  readonly tokens: readonly number[];
  readonly tokensRead: number;
}

export interface DecoderRunsParts {
  readonly session: InferenceSession;
  readonly tensors: DecoderTensors;
  readonly memory: CacheMemory;
  /** The length of a cache that holds this many tokens. */
  readonly cacheTokensFor: (tokensRead: number) => number;
}

export class DecoderRuns {
  readonly #parts: DecoderRunsParts;
  readonly #fetches: readonly string[];

  constructor(parts: DecoderRunsParts) {
    this.#parts = parts;
    const { logits, caches } = parts.tensors;
    this.#fetches = [logits.name, ...caches.map(({ output }) => output)];
  }

  /** Reads the tokens of a prompt that the step names. */
  async prefill({ id, from, to, cacheTokens }: PrefillStep, tokens: readonly number[]): Promise<LastLogits> {
    return this.#read([{ id, tokens, tokensRead: from }], to - from, cacheTokens);
  }

  /** Reads for each sequence the token at the position where its cache ends. */
  async token(
    { ids, firstRow, cacheTokens }: TokenStep,
    textOf: (id: SequenceId) => Pick<ReadText, 'tokens' | 'tokensRead'>,
  ): Promise<LastLogits> {
    const ordered = this.#parts.memory.gather(ids, firstRow);
    return this.#read(
      ordered.map((id) => ({ id, ...textOf(id) })),
      1,
      cacheTokens,
    );
  }

  async #read(texts: readonly ReadText[], count: number, cacheTokens: number): Promise<LastLogits> {
    const { session, tensors } = this.#parts;
    // Without a cache every run reads all tokens, which are then as many in every row.
    const hasCache = tensors.caches.length > 0;
    const rows = hasCache ? texts : texts.map((text) => ({ ...text, tokensRead: 0 }));
    const width = hasCache ? count : (texts[0]?.tokensRead ?? 0) + count;
    const outputs = await session.run(this.#feeds(rows, width, hasCache ? cacheTokens : 0), this.#fetches);
    if (hasCache) this.#keep(outputs, texts, count, cacheTokens);
    mustHaveLogits(outputs[tensors.logits.name] as Tensor, tensors);
    return lastLogits(
      texts.map(({ id }) => id),
      outputs[tensors.logits.name] as Tensor,
      tensors,
    );
  }

  #feeds(texts: readonly ReadText[], width: number, cacheTokens: number): Record<string, Tensor> {
    const { tensors, memory } = this.#parts;
    const rows = texts.length;
    const feeds: Record<string, Tensor> = {};
    const give = (
      input: TokenInput | undefined,
      dims: readonly number[],
      valueAt: (text: ReadText, column: number) => number,
    ): void => {
      if (input === undefined) return;
      const columns = dims[1] ?? 1;
      const count = dims.length === 0 ? 1 : rows * columns;
      // None is negative: the upper half of 64 bits stays 0.
      const stride = input.datatype === 'INT32' ? 1 : 2;
      const values = new Int32Array(count * stride);
      for (let row = 0, at = 0; at < values.length; row++) {
        const text = texts[row] as ReadText;
        for (let column = 0; column < columns; column++, at += stride) values[at] = valueAt(text, column);
      }
      feeds[input.name] = integerTensor(input, values, dims);
    };
    give(tensors.inputIds, [rows, width], ({ tokens, tokensRead }, column) => tokens[tokensRead + column] as number);
    give(tensors.positionIds, [rows, width], ({ tokensRead }, column) => tokensRead + column);
    // What lies between the tokens that were read and the end of the cache is padding.
    give(tensors.attentionMask, [rows, cacheTokens + width], ({ tokensRead }, column) =>
      column < tokensRead || column >= cacheTokens ? 1 : 0,
    );
    give(tensors.sequenceLengths, [rows], ({ tokensRead }) => tokensRead + width - 1);
    give(tensors.totalSequenceLength, [], () => cacheTokens + width);
    give(tensors.logitsToKeep, [], () => 1);
    if (tensors.useCacheBranch !== undefined) {
      feeds[tensors.useCacheBranch] = new Tensor('bool', Uint8Array.of(cacheTokens > 0 ? 1 : 0), [1]);
    }
    for (const [index, cache] of tensors.caches.entries()) {
      const bytes = cacheTokens === 0 ? noBytes : memory.view((texts[0] as ReadText).id, index, rows);
      feeds[cache.input] = cacheTensor(cache, bytes, [rows, cache.heads, cacheTokens, cache.headSize]);
    }
    return feeds;
  }

  /** Adds the new keys and values to the caches. */
  #keep(
    outputs: InferenceSession.OnnxValueMapType,
    texts: readonly ReadText[],
    count: number,
    cacheTokens: number,
  ): void {
    const { tensors, memory, cacheTokensFor } = this.#parts;
    const added = tensors.caches.map((cache, index): NewTokens => {
      const { output, heads, headSize } = cache;
      const { data, dims } = outputs[output] as Tensor;
      if (dims[1] !== heads || dims[3] !== headSize) {
        throw new Error(
          `the output ${output} of the graph has the shape [${dims.join(', ')}], and its cache has ${heads} heads of size ${headSize} by the inputs of the graph or config.json`,
        );
      }
      const { buffer, byteOffset, byteLength } = data as Float32Array | Uint16Array;
      const bytes = new Uint8Array(buffer, byteOffset, byteLength);
      const tokens = dims[2] as number;
      if (tokens !== count) {
        const [{ id, tokensRead }] = texts as readonly [ReadText];
        const given = cacheTokens === 0 ? noBytes : memory.view(id, index, 1);
        mustFollow(cache, { bytes: given, tokens: cacheTokens, read: tokensRead }, { bytes, tokens, added: count });
      }
      return { bytes, words: takeFourByteElements(bytes), tokens };
    });
    for (const [row, { id, tokensRead }] of texts.entries()) {
      memory.append(id, tokensRead, count, cacheTokensFor(tokensRead + count), added, row);
    }
  }
}

/** A graph keeps fewer tokens than it was given: it would need caches that are shortened as it shortens them. */
export class ShortenedCache extends Error {}

/**
 * A graph that returns whole caches: what is new is taken from their end, so it has to stand behind all that was given. The newest token
 * of what was given, in the first head of the first row, tells.
 */
function mustFollow(
  cache: CacheTensors,
  given: { readonly bytes: Uint8Array; readonly tokens: number; readonly read: number },
  returned: { readonly bytes: Uint8Array; readonly tokens: number; readonly added: number },
): void {
  const what = `the output ${cache.output} of the graph`;
  if (returned.tokens !== given.tokens + returned.added) {
    const message = `${what} has ${returned.tokens} tokens after a run with a cache of ${given.tokens} and ${returned.added} new ones; expected are all of them, or the new ones`;
    throw returned.tokens < Math.max(given.tokens, returned.added) ? new ShortenedCache(message) : new Error(message);
  }
  const size = cache.headSize * elementBytesOf(cache);
  const newest = (bytes: Uint8Array): Uint8Array => bytes.subarray((given.read - 1) * size, given.read * size);
  if (Buffer.compare(newest(given.bytes), newest(returned.bytes)) !== 0) {
    throw new Error(`${what} does not begin with the cache that the run was given; expected are new tokens behind it`);
  }
}

/** Where the graph leaves the size free, config.json says it, and may be that of another model. */
function mustHaveLogits({ dims }: Tensor, { logits, vocabulary }: DecoderTensors): void {
  if (dims.at(-1) === vocabulary) return;
  throw new Error(
    `the output ${logits.name} of the graph has ${dims.at(-1)} values for a token, and the vocabulary by the graph's head or config.json (vocab_size) has ${vocabulary} tokens`,
  );
}

const noBytes = new Uint8Array(0);

function lastLogits(
  ids: readonly SequenceId[],
  { data, dims }: Tensor,
  { logits, vocabulary }: DecoderTensors,
): LastLogits {
  const width = dims.length === 3 ? (dims[1] as number) : 1;
  const begin = (index: number): number => ((index + 1) * width - 1) * vocabulary;
  if (logits.datatype === 'FP32') {
    const all = data as Float32Array;
    return { ids, row: (index) => all.subarray(begin(index), begin(index) + vocabulary) };
  }
  const { buffer, byteOffset, byteLength } = data as Uint16Array;
  const halves = new Uint16Array(buffer, byteOffset, byteLength / 2);
  return {
    ids,
    row: (index) => Float32Array.from(halves.subarray(begin(index), begin(index) + vocabulary), numberFromFp16),
  };
}

function integerTensor({ datatype }: TokenInput, values: Int32Array, dims: readonly number[]): Tensor {
  return datatype === 'INT32'
    ? new Tensor('int32', values, dims)
    : new Tensor('int64', new BigInt64Array(values.buffer), dims);
}

function cacheTensor(cache: CacheTensors, bytes: Uint8Array, dims: readonly number[]): Tensor {
  const elements = bytes.byteLength / elementBytesOf(cache);
  if (cache.datatype === 'FP32')
    return new Tensor('float32', new Float32Array(bytes.buffer, bytes.byteOffset, elements), dims);
  // Where Float16Array exists, the constructor would ask for one, which the native side takes as empty.
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, elements);
  return { type: 'float16', data: halves, dims, location: 'cpu' } as unknown as Tensor;
}
