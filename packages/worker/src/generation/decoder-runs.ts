/** Runs of a decoder on caches that stay in our memory: a piece of a prompt, or one more token of several sequences. */
import type { PrefillStep, SequenceId, TokenStep } from '@millrace/core';
import { type InferenceSession, Tensor } from '../onnxruntime/onnxruntime.ts';
import type { CacheMemory, NewTokens } from './cache-memory.ts';
import { type CacheTensors, type DecoderTensors, elementBytesOf, type TokenInput } from './decoder-tensors.ts';

/** The logits of the last token of every row. */
export interface LastLogits {
  readonly ids: readonly SequenceId[];
  row(index: number): Float32Array;
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
    this.#fetches = [logits, ...caches.map(({ output }) => output)];
  }

  /** Reads the tokens of a prompt that the step names. */
  async prefill({ id, from, to, cacheTokens }: PrefillStep, tokens: readonly number[]): Promise<LastLogits> {
    const outputs = await this.#run([id], [tokens.slice(from, to)], [from], cacheTokens);
    return this.#take(outputs, [id], [from], to - from);
  }

  /** Reads for each sequence the token at the position where its cache ends. `stateOf` tells that position and the token. */
  async token(
    { ids, firstRow, cacheTokens }: TokenStep,
    stateOf: (id: SequenceId) => { readonly tokensRead: number; readonly token: number },
  ): Promise<LastLogits> {
    const ordered = this.#parts.memory.gather(ids, firstRow);
    const states = ordered.map(stateOf);
    const read = states.map(({ tokensRead }) => tokensRead);
    const outputs = await this.#run(
      ordered,
      states.map(({ token }) => [token]),
      read,
      cacheTokens,
    );
    return this.#take(outputs, ordered, read, 1);
  }

  #run(
    ids: readonly SequenceId[],
    tokens: readonly (readonly number[])[],
    read: readonly number[],
    cacheTokens: number,
  ): Promise<InferenceSession.OnnxValueMapType> {
    const { session, tensors, memory } = this.#parts;
    const rows = ids.length;
    const count = tokens[0]?.length ?? 0;
    const length = cacheTokens + count;
    const feeds: Record<string, Tensor> = {};
    const give = (input: TokenInput | undefined, width: number, valueAt: (row: number, column: number) => number) => {
      if (input !== undefined) feeds[input.name] = tokenTensor(input, rows, width, valueAt);
    };
    give(tensors.inputIds, count, (row, column) => tokens[row]?.[column] ?? 0);
    give(tensors.positionIds, count, (row, column) => (read[row] ?? 0) + column);
    // What lies between the tokens that were read and the end of the cache is padding.
    give(tensors.attentionMask, length, (row, column) => (column < (read[row] ?? 0) || column >= cacheTokens ? 1 : 0));
    for (const [index, cache] of tensors.caches.entries()) {
      const bytes = cacheTokens === 0 ? noBytes : memory.view(ids[0] as SequenceId, index, rows);
      feeds[cache.input] = cacheTensor(cache, bytes, [rows, cache.heads, cacheTokens, cache.headSize]);
    }
    return session.run(feeds, this.#fetches);
  }

  /** Adds the new keys and values to the caches, and returns the logits. */
  #take(
    outputs: InferenceSession.OnnxValueMapType,
    ids: readonly SequenceId[],
    read: readonly number[],
    count: number,
  ): LastLogits {
    const { tensors, memory, cacheTokensFor } = this.#parts;
    const added = tensors.caches.map((cache): NewTokens => {
      const { data, dims } = outputs[cache.output] as Tensor;
      const { buffer, byteOffset, byteLength } = data as Float32Array | Uint16Array;
      return {
        bytes: new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength),
        rows: ids.length,
        tokens: dims[2] as number,
      };
    });
    if (added.length > 0) {
      for (const [row, id] of ids.entries()) {
        const before = read[row] as number;
        memory.append(id, before, count, cacheTokensFor(before + count), added, row);
      }
    }
    const { data, dims } = outputs[tensors.logits] as Tensor;
    const [, width = 1, vocabulary = tensors.vocabulary] = dims;
    const logits = data as Float32Array;
    return {
      ids,
      row: (index) => logits.subarray(((index + 1) * width - 1) * vocabulary, (index + 1) * width * vocabulary),
    };
  }
}

const noBytes = new Uint8Array(0);

function tokenTensor(
  { datatype }: TokenInput,
  rows: number,
  columns: number,
  valueAt: (row: number, column: number) => number,
): Tensor {
  if (datatype === 'INT32') {
    const values = Int32Array.from({ length: rows * columns }, (_, at) =>
      valueAt(Math.floor(at / columns), at % columns),
    );
    return new Tensor('int32', values, [rows, columns]);
  }
  const values = new BigInt64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) values[row * columns + column] = BigInt(valueAt(row, column));
  }
  return new Tensor('int64', values, [rows, columns]);
}

function cacheTensor(cache: CacheTensors, bytes: Uint8Array, dims: readonly number[]): Tensor {
  const elements = bytes.byteLength / elementBytesOf(cache);
  if (cache.datatype === 'FP32') {
    return new Tensor('float32', new Float32Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, elements), dims);
  }
  const halves = new Uint16Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, elements);
  // Where Float16Array exists, the constructor would ask for one, which the native side takes as empty.
  return { type: 'float16', data: halves, dims, location: 'cpu' } as unknown as Tensor;
}
