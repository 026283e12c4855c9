/** The tensors of a decoder that keeps its cache outside: what a run takes and gives. */
export interface DecoderTensors {
  readonly inputIds: TokenInput;
  /** Absent: the model has no such input. */
  readonly attentionMask: TokenInput | undefined;
  readonly positionIds: TokenInput | undefined;
  /** Of merged exports: whether the cache has content. A BOOL. */
  readonly useCacheBranch: string | undefined;
  /** Of GroupQueryAttention: tokens of each row with the new ones, less one. */
  readonly sequenceLengths: TokenInput | undefined;
  /** Of GroupQueryAttention: tokens of the longest row with the new ones. */
  readonly totalSequenceLength: TokenInput | undefined;
  /** For how many tokens from the end logits are wanted. */
  readonly logitsToKeep: TokenInput | undefined;
  /** Keys and values of every layer; empty: the model reads all tokens in every run. */
  readonly caches: readonly CacheTensors[];
  /** Shape: rows, tokens, vocabulary; or without the tokens. */
  readonly logits: { readonly name: string; readonly datatype: 'FP32' | 'FP16' };
  readonly vocabulary: number;
}

export interface TokenInput {
  readonly name: string;
  readonly datatype: 'INT64' | 'INT32';
}

/** One cache: shape rows, heads, tokens, size of a head. */
export interface CacheTensors {
  readonly input: string;
  /** Has the tokens of the run, and in models that could not be cut the whole cache before them. */
  readonly output: string;
  readonly heads: number;
  readonly headSize: number;
  readonly datatype: 'FP32' | 'FP16';
}

export function elementBytesOf({ datatype }: Pick<CacheTensors, 'datatype'>): number {
  return datatype === 'FP32' ? 4 : 2;
}

/** Bytes of all caches for one token of one sequence. */
export function tokenBytesOf({ caches }: Pick<DecoderTensors, 'caches'>): number {
  return caches.reduce((bytes, cache) => bytes + cache.heads * cache.headSize * elementBytesOf(cache), 0);
}
