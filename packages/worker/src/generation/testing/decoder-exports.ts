/**
 * Folders of decoders in the forms that exporters write, of one tiny model: the logits are the sum of the table's rows for all tokens
 * of the text. The numbers are small integers, so that every form gives the same texts, also with 16 bits and with 8.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fp16From } from '@millrace/protocol';
import {
  type OnnxConstant,
  type OnnxNode,
  type OnnxValue,
  onnxModelFrom,
  type WrittenGraph,
} from '../../testing/onnx-graph.ts';

const table: readonly (readonly number[])[] = [
  [3, 4, 1, 11, 6, 7, 2, 1],
  [1, 0, 6, 8, 4, 0, 3, 8],
  [8, 5, 4, 2, 1, 4, 3, 0],
  [10, 4, 4, 3, 2, 4, 4, 10],
  [11, 5, 1, 9, 5, 10, 6, 8],
  [3, 2, 3, 7, 4, 1, 8, 4],
  [0, 4, 9, 11, 4, 8, 3, 6],
  [6, 9, 4, 6, 7, 2, 3, 4],
];
const vocabulary = 8;
const letters = 'abcdefgh';

export interface DecoderExport {
  /** `past`: a cache. `none`: without one. `merged`: one graph for both, by `use_cache_branch`. `grouped`: GroupQueryAttention. */
  readonly cache?: 'past' | 'none' | 'merged' | 'grouped';
  /** How the table is stored; the cache and the logits are FP16 where it is. */
  readonly weights?: 'FP32' | 'FP16' | 'INT8';
  readonly rows?: number | string;
  readonly tokens?: number | string;
  readonly pastTokens?: number | string;
  /** Of the declared output; a name leaves it to config.json. */
  readonly vocabulary?: number | string;
  /** Names of files for parts of the table. */
  readonly externalFiles?: readonly string[];
  readonly hasPositions?: boolean;
}

/** What the model says after a text, by the definition above. Throws where two tokens are equally probable. */
export function continuation(text: string, count: number): string {
  const tokens = [...text].map((letter) => letters.indexOf(letter));
  while (tokens.length < text.length + count) {
    const sums = Array.from({ length: vocabulary }, (_, id) =>
      tokens.reduce((sum, token) => sum + ((table[token] as readonly number[])[id] as number), 0),
    );
    const best = Math.max(...sums);
    if (sums.filter((sum) => sum === best).length > 1) throw new Error(`two tokens are as probable after ${text}`);
    tokens.push(sums.indexOf(best));
  }
  return tokens
    .slice(text.length)
    .map((token) => letters[token])
    .join('');
}

/** Files beside the graph, as exporters write them; undefined: left out. */
export type ExportedFiles = Readonly<Record<string, string | undefined>>;

export const exportedFiles: ExportedFiles = {
  'tokenizer.json': letterTokenizer(letters),
  'tokenizer_config.json': '{"model_max_length": 200}',
  'config.json': '{"architectures": ["GPT2LMHeadModel"], "vocab_size": 8, "n_head": 1, "n_embd": 8}',
  'generation_config.json': '{"do_sample": false, "eos_token_id": null}',
};

/** A token for each of the letters; special tokens are added after them. */
export function letterTokenizer(tokens: string, special: readonly string[] = []): string {
  return JSON.stringify({
    version: '1.0',
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: { type: 'BPE', vocab: Object.fromEntries([...tokens].map((letter, id) => [letter, id])), merges: [] },
    added_tokens: special.map((content, index) => ({
      id: tokens.length + index,
      content,
      special: true,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
    })),
  });
}

/** Writes a version folder, and returns the path of its graph. */
export async function writeDecoderExport(
  folder: string,
  form: DecoderExport = {},
  files: ExportedFiles = {},
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const { externalFiles = [] } = form;
  for (const [index, name] of externalFiles.entries()) {
    await writeFile(join(folder, name), tablePart(form, index, externalFiles.length));
  }
  for (const [name, text] of Object.entries({ ...exportedFiles, ...files })) {
    if (text !== undefined) await writeFile(join(folder, name), text);
  }
  const path = join(folder, 'model.onnx');
  await writeFile(path, onnxModelFrom(exportedGraph(form)));
  return path;
}

function exportedGraph(form: DecoderExport): WrittenGraph {
  const {
    cache = 'past',
    weights = 'FP32',
    rows = 'batch',
    tokens = 'sequence',
    pastTokens = 'past',
    hasPositions = false,
  } = form;
  const datatype = weights === 'FP16' ? 'FP16' : 'FP32';
  const parts = ['key', 'value'] as const;
  const integers = (name: string, shape: OnnxValue['shape'], type: 'INT64' | 'INT32' = 'INT64'): OnnxValue => ({
    name,
    datatype: type,
    shape,
  });
  const caches = (prefix: string, length: number | string): OnnxValue[] =>
    parts.map((part) => ({ name: `${prefix}.0.${part}`, datatype, shape: [rows, 1, length, vocabulary] }));
  const isGrouped = cache === 'grouped';
  return {
    inputs: [
      integers('input_ids', [rows, tokens]),
      ...(isGrouped ? [] : [integers('attention_mask', [rows, 'total'])]),
      ...(hasPositions ? [integers('position_ids', [rows, tokens])] : []),
      ...(cache === 'none' ? [] : caches('past_key_values', pastTokens)),
      ...(cache === 'merged' ? [{ name: 'use_cache_branch', datatype: 'BOOL' as const, shape: [1] }] : []),
      ...(isGrouped ? [integers('seqlens_k', [rows], 'INT32'), integers('total_sequence_length', [], 'INT32')] : []),
    ],
    outputs: [
      { name: 'logits', datatype, shape: [rows, isGrouped ? tokens : 1, form.vocabulary ?? vocabulary] },
      ...(cache === 'none' ? [] : caches('present', 'all')),
    ],
    nodes: [
      ...tableNodes(form),
      { operator: 'Gather', inputs: ['table', 'input_ids'], outputs: ['rows'] },
      ...(isGrouped ? groupedNodes() : summingNodes(cache, datatype)),
    ],
    constants: [
      ...tableConstants(form),
      axes('zero', 0),
      axes('one', 1),
      axes('two', 2),
      axes('head', vocabulary),
      axes('sides', 1, 3),
      axes('summed', 1, 2),
      scalar('nothing', datatype),
    ],
  };
}

/** Two heads of queries that share one of keys; queries are 0, so that every token counts as much as the others: the mean. */
function groupedNodes(): OnnxNode[] {
  return [
    { operator: 'Mul', inputs: ['rows', 'nothing'], outputs: ['query'] },
    { operator: 'Concat', inputs: ['query', 'query'], outputs: ['queries'], attributes: { axis: 2 } },
    {
      operator: 'GroupQueryAttention',
      domain: 'com.microsoft',
      inputs: [
        'queries',
        'rows',
        'rows',
        'past_key_values.0.key',
        'past_key_values.0.value',
        'seqlens_k',
        'total_sequence_length',
      ],
      outputs: ['means', 'present.0.key', 'present.0.value'],
      attributes: { num_heads: 2, kv_num_heads: 1 },
    },
    { operator: 'Slice', inputs: ['means', 'zero', 'head', 'two'], outputs: ['logits'] },
  ];
}

function summingNodes(cache: 'past' | 'none' | 'merged', datatype: 'FP32' | 'FP16'): OnnxNode[] {
  const joined = (part: string): OnnxNode => ({
    operator: 'Concat',
    inputs: [`past_key_values.0.${part}`, 'new'],
    outputs: [`present.0.${part}`],
    attributes: { axis: 2 },
  });
  const branch = (nodes: readonly OnnxNode[], prefix: string): WrittenGraph => ({
    inputs: [],
    outputs: ['key', 'value'].map((part) => ({
      name: `${prefix}.${part}`,
      datatype,
      shape: ['batch', 1, `${prefix}_tokens`, vocabulary],
    })),
    nodes: nodes.map((node, index) => ({ ...node, outputs: [`${prefix}.${['key', 'value'][index]}`] })),
  });
  const fresh: OnnxNode = { operator: 'Identity', inputs: ['new'], outputs: [] };
  const caches: Readonly<Record<typeof cache, readonly OnnxNode[]>> = {
    none: [{ operator: 'Identity', inputs: ['new'], outputs: ['present.0.value'] }],
    past: [joined('key'), joined('value')],
    merged: [
      {
        operator: 'If',
        inputs: ['use_cache_branch'],
        outputs: ['present.0.key', 'present.0.value'],
        attributes: {
          then_branch: branch([joined('key'), joined('value')], 'with_past'),
          else_branch: branch([fresh, fresh], 'without_past'),
        },
      },
    ],
  };
  return [
    { operator: 'Unsqueeze', inputs: ['rows', 'one'], outputs: ['new'] },
    ...caches[cache],
    { operator: 'Cast', inputs: ['present.0.value'], outputs: ['all'], attributes: { to: 1 } },
    { operator: 'Unsqueeze', inputs: ['attention_mask', 'sides'], outputs: ['mask'] },
    { operator: 'Cast', inputs: ['mask'], outputs: ['seen'], attributes: { to: 1 } },
    { operator: 'Mul', inputs: ['all', 'seen'], outputs: ['heard'] },
    { operator: 'ReduceSum', inputs: ['heard', 'summed'], outputs: ['sums'], attributes: { keepdims: 0 } },
    { operator: 'Unsqueeze', inputs: ['sums', 'one'], outputs: ['sum'] },
    { operator: 'Cast', inputs: ['sum'], outputs: ['logits'], attributes: { to: datatype === 'FP16' ? 10 : 1 } },
  ];
}

/** Makes the tensor `table` of its parts. */
function tableNodes({ weights = 'FP32', externalFiles = [] }: DecoderExport): OnnxNode[] {
  if (externalFiles.length > 0) {
    const inputs = externalFiles.map((_, index) => `table_${index}`);
    return [{ operator: 'Concat', inputs, outputs: ['table'], attributes: { axis: 0 } }];
  }
  const stored = 'table_0';
  return weights === 'INT8'
    ? [{ operator: 'DequantizeLinear', inputs: [stored, 'scale', 'offset'], outputs: ['table'] }]
    : [{ operator: 'Identity', inputs: [stored], outputs: ['table'] }];
}

function tableConstants(form: DecoderExport): OnnxConstant[] {
  const { weights = 'FP32', externalFiles = [] } = form;
  const count = Math.max(externalFiles.length, 1);
  const parts = Array.from({ length: count }, (_, index): OnnxConstant => {
    const data = tablePart(form, index, count);
    const head = { name: `table_${index}`, datatype: weights, shape: [vocabulary / count, vocabulary] };
    const file = externalFiles[index];
    return file === undefined ? { ...head, data } : { ...head, file, fileBytes: data.byteLength };
  });
  if (weights !== 'INT8') return parts;
  return [
    ...parts,
    { name: 'scale', datatype: 'FP32', shape: [], data: bytesOf(Float32Array.of(0.5)) },
    { name: 'offset', datatype: 'INT8', shape: [], data: bytesOf(Int8Array.of(-8)) },
  ];
}

function tablePart({ weights = 'FP32' }: DecoderExport, part: number, parts: number): Uint8Array {
  const numbers = table.slice((part * vocabulary) / parts, ((part + 1) * vocabulary) / parts).flat();
  if (weights === 'FP16') return bytesOf(Uint16Array.from(numbers, fp16From));
  // By the scale and the offset above.
  if (weights === 'INT8') return bytesOf(Int8Array.from(numbers, (number) => number * 2 - 8));
  return bytesOf(Float32Array.from(numbers));
}

function axes(name: string, ...values: readonly number[]): OnnxConstant {
  return { name, datatype: 'INT64', shape: [values.length], data: bytesOf(BigInt64Array.from(values, BigInt)) };
}

function scalar(name: string, datatype: 'FP32' | 'FP16'): OnnxConstant {
  return { name, datatype, shape: [1], data: new Uint8Array(datatype === 'FP16' ? 2 : 4) };
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}
