/** The keys and values of earlier tokens, as inputs and outputs of a decoder: `past_key_values.3.key`, `present.3.key`. */
import type { Datatype } from '@millrace/protocol';
import { type JsonFields, ModelFileError } from './model-file-error.ts';

export interface DecoderCache {
  /** By number, from 0. Each tensor is [batch, heads, tokens, headSize]. */
  readonly layers: readonly DecoderCacheLayer[];
  /** Of keys and values: fewer than the heads of queries where queries share them. */
  readonly heads: number;
  readonly headSize: number;
  readonly datatype: 'FP32' | 'FP16';
}

export interface DecoderCacheLayer {
  readonly pastKey: string;
  readonly pastValue: string;
  readonly presentKey: string;
  readonly presentValue: string;
}

interface CacheTensor {
  readonly name: string;
  readonly datatype: Datatype | undefined;
  readonly shape: readonly (number | string)[] | undefined;
}

const pastPattern = /^past_key_values\.(\d{1,4})\.(?:(encoder|decoder)\.)?(key|value)$/;
const presentPattern = /^present(?:_key_values)?\.(\d{1,4})\.(?:(encoder|decoder)\.)?(key|value)$/;

export function isCacheInput(name: string): boolean {
  return pastPattern.test(name);
}

/** The file that has the sizes which a graph leaves open, and what is in it; nothing where there is no such file. */
export interface SizesFile {
  readonly file: string;
  readonly fields: JsonFields;
}

/** Undefined: the graph has no cache. Throws a `ModelFileError` where neither the graph nor the file has the sizes of the cache. */
export function readDecoderCache(
  inputs: readonly CacheTensor[],
  outputs: readonly CacheTensor[],
  { file, fields }: SizesFile,
  refuse: (reason: string) => never,
): DecoderCache | undefined {
  const past = partsOf(inputs, pastPattern, refuse);
  const present = partsOf(outputs, presentPattern, refuse);
  // An export without past inputs may still give the cache out; it is of no use then.
  if (past.size === 0) return undefined;
  const layerCount = Math.max(...[...past.keys()].map((part) => Number.parseInt(part, 10))) + 1;
  const nameOf = (parts: ReadonlyMap<string, CacheTensor>, part: string, kind: string): string =>
    parts.get(part)?.name ?? refuse(`${kind} ${part} of the cache is missing: there are ${layerCount} layers`);
  const layers = Array.from({ length: layerCount }, (_, layer) => ({
    pastKey: nameOf(past, `${layer}.key`, 'input'),
    pastValue: nameOf(past, `${layer}.value`, 'input'),
    presentKey: nameOf(present, `${layer}.key`, 'output'),
    presentValue: nameOf(present, `${layer}.value`, 'output'),
  }));
  const tensors = [...past.values()];
  return {
    layers,
    heads: sizeOf(tensors, 1, headsOf(fields), 'number of heads', refuse) ?? missing(file, 'number of heads'),
    headSize: sizeOf(tensors, 3, headSizeOf(fields), 'head size', refuse) ?? missing(file, 'head size'),
    datatype: datatypeOf([...tensors, ...present.values()], refuse),
  };
}

/** Tensors of the cache by layer and part: `3.key`. */
function partsOf(
  tensors: readonly CacheTensor[],
  pattern: RegExp,
  refuse: (reason: string) => never,
): ReadonlyMap<string, CacheTensor> {
  const parts = new Map<string, CacheTensor>();
  for (const tensor of tensors) {
    const [, layer, side, part] = pattern.exec(tensor.name) ?? [];
    if (layer === undefined) continue;
    if (side === 'encoder') {
      refuse(`${tensor.name} belongs to an encoder; only decoders that stand alone are supported`);
    }
    const place = `${Number(layer)}.${part}`;
    const other = parts.get(place);
    if (other !== undefined) refuse(`${other.name} and ${tensor.name} are the same part of the cache`);
    parts.set(place, tensor);
  }
  return parts;
}

/** One size for all layers, from the graph, or from a file where the graph leaves it free. */
function sizeOf(
  tensors: readonly CacheTensor[],
  axis: number,
  configured: number | undefined,
  what: string,
  refuse: (reason: string) => never,
): number | undefined {
  const sizes = new Set<number>();
  for (const { name, shape } of tensors) {
    if (shape !== undefined && shape.length !== 4) {
      refuse(`input ${name} has the shape [${shape.join(', ')}]; expected is [batch, heads, past, head size]`);
    }
    const size = shape?.[axis];
    if (typeof size === 'number') sizes.add(size);
  }
  if (sizes.size > 1) refuse(`the ${what} of the cache differs between its tensors (${[...sizes].join(', ')})`);
  const [stated = configured] = sizes;
  return stated;
}

/** The graph is a decoder for sure, so it is not served as a plain graph in silence. */
function missing(file: string, what: string): never {
  throw new ModelFileError(
    file,
    `is missing or does not have the ${what} of the cache, which the graph leaves open; use the file that belongs to the model`,
  );
}

function datatypeOf(tensors: readonly CacheTensor[], refuse: (reason: string) => never): 'FP32' | 'FP16' {
  const datatypes = new Set(tensors.map(({ datatype }) => datatype));
  const [datatype] = datatypes;
  if (datatypes.size === 1 && (datatype === 'FP32' || datatype === 'FP16')) return datatype;
  const seen = [...datatypes].map((one) => one ?? 'unknown').join(', ');
  return refuse(`the cache is ${seen}; expected is FP32 or FP16 for all of it`);
}

function headsOf(config: JsonFields): number | undefined {
  return firstSize(config, ['num_key_value_heads', 'num_attention_heads', 'n_head', 'num_heads']);
}

function headSizeOf(config: JsonFields): number | undefined {
  const stated = firstSize(config, ['head_dim']);
  const width = firstSize(config, ['hidden_size', 'n_embd', 'd_model']);
  const queryHeads = firstSize(config, ['num_attention_heads', 'n_head', 'num_heads']);
  return stated ?? (width !== undefined && queryHeads !== undefined ? width / queryHeads : undefined);
}

function firstSize(config: JsonFields, names: readonly string[]): number | undefined {
  return names.map((name) => config[name]).find((size) => Number.isSafeInteger(size) && (size as number) > 0) as
    | number
    | undefined;
}
