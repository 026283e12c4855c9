/** Decoders of one layer whose next token follows from a plain rule, with the faults that the probe has to find. */
import { type OnnxNode, onnxModelFrom } from '../../testing/onnx-graph.ts';
import type { DecoderTensors } from '../decoder-tensors.ts';

export const smallVocabulary = 2;

/**
 * `mean` counts padding in; `mixed` looks at the other rows of a run; `noisy` adds random numbers; `windowed` looks at the last 150 places
 * of the cache; `shortened` keeps only those; `turned` puts new tokens before the cache; `divided` adds the sum of the new tokens to what
 * it keeps of each; `sum` does nothing of it.
 */
export type SmallDecoderRule = 'sum' | 'mean' | 'mixed' | 'noisy' | 'windowed' | 'shortened' | 'turned' | 'divided';
const windowTokens = 150n;

/** Every token adds its id to the cache; the logits are the sum or the mean of what the cache holds. */
export function smallDecoder(rule: SmallDecoderRule): Uint8Array {
  const cache = (name: string, tokens: string) => ({
    name,
    datatype: 'FP32' as const,
    shape: ['batch', 1, tokens, smallVocabulary],
  });
  const axes = (name: string, values: readonly bigint[]) => ({
    name,
    datatype: 'INT64' as const,
    shape: [values.length],
    data: new Uint8Array(BigInt64Array.from(values).buffer),
  });
  // Sums take their axes as an input, means as an attribute.
  const reduced = (output: string, along: readonly number[]): OnnxNode => {
    const inputs = [rule === 'windowed' ? 'window' : 'values'];
    return rule === 'mean'
      ? { operator: 'ReduceMean', inputs, outputs: [output], attributes: { axes: along, keepdims: 0 } }
      : {
          operator: 'ReduceSum',
          inputs: [...inputs, `axes_of_${output}`],
          outputs: [output],
          attributes: { keepdims: 0 },
        };
  };
  const joined = (part: string, whole: string): OnnxNode[] => {
    const parts = [`past_key_values.0.${part}`, part];
    const [inputs, outputs] = [rule === 'turned' ? parts.reverse() : parts, [`present.0.${part}`]];
    const kept: OnnxNode =
      rule === 'shortened'
        ? { operator: 'Slice', inputs: [whole, 'window_start', 'window_end', 'tokens_axis'], outputs }
        : { operator: 'Identity', inputs: [whole], outputs };
    return [{ operator: 'Concat', inputs, outputs: [whole], attributes: { axis: 2 } }, kept];
  };
  return onnxModelFrom({
    inputs: [
      { name: 'input_ids', datatype: 'INT64', shape: ['batch', 'tokens'] },
      cache('past_key_values.0.key', 'past'),
      cache('past_key_values.0.value', 'past'),
    ],
    outputs: [
      { name: 'logits', datatype: 'FP32', shape: ['batch', 1, smallVocabulary] },
      cache('present.0.key', 'all'),
      cache('present.0.value', 'all'),
    ],
    nodes: [
      { operator: 'Cast', inputs: ['input_ids'], outputs: ['ids'], attributes: { to: 1 } },
      { operator: 'ReduceSum', inputs: ['ids', 'second'], outputs: ['all_ids'], attributes: { keepdims: 1 } },
      {
        operator: rule === 'divided' ? 'Add' : 'Max',
        inputs: ['ids', rule === 'divided' ? 'all_ids' : 'ids'],
        outputs: ['numbers'],
      },
      { operator: 'Unsqueeze', inputs: ['numbers', 'around'], outputs: ['columns'] },
      { operator: 'Concat', inputs: ['columns', 'columns'], outputs: ['key'], attributes: { axis: 3 } },
      { operator: 'Mul', inputs: ['key', 'weights'], outputs: ['value'] },
      ...joined('key', 'keys'),
      ...joined('value', 'values'),
      { operator: 'Slice', inputs: ['values', 'window_start', 'window_end', 'tokens_axis'], outputs: ['window'] },
      reduced('own', [1, 2]),
      reduced('shared', [0, 1, 2]),
      {
        operator: rule === 'mixed' ? 'Add' : 'Max',
        inputs: ['own', rule === 'mixed' ? 'shared' : 'own'],
        outputs: ['rows'],
      },
      { operator: 'RandomUniformLike', inputs: ['rows'], outputs: ['noise'] },
      {
        operator: rule === 'noisy' ? 'Add' : 'Max',
        inputs: ['rows', rule === 'noisy' ? 'noise' : 'rows'],
        outputs: ['heard'],
      },
      { operator: 'Unsqueeze', inputs: ['heard', 'second'], outputs: ['logits'] },
    ],
    constants: [
      axes('around', [1n, 3n]),
      axes('window_start', [-windowTokens]),
      axes('window_end', [2n ** 62n]),
      axes('tokens_axis', [2n]),
      axes('second', [1n]),
      axes('axes_of_own', [1n, 2n]),
      axes('axes_of_shared', [0n, 1n, 2n]),
      { name: 'weights', datatype: 'FP32', shape: [2], data: new Uint8Array(Float32Array.of(0.5, 0.25).buffer) },
    ],
  });
}

export const smallDecoderTensors: DecoderTensors = {
  inputIds: { name: 'input_ids', datatype: 'INT64' },
  attentionMask: undefined,
  positionIds: undefined,
  useCacheBranch: undefined,
  sequenceLengths: undefined,
  totalSequenceLength: undefined,
  logitsToKeep: undefined,
  caches: (['key', 'value'] as const).map((part) => ({
    input: `past_key_values.0.${part}`,
    output: `present.0.${part}`,
    heads: 1,
    headSize: smallVocabulary,
    datatype: 'FP32',
  })),
  logits: { name: 'logits', datatype: 'FP32' },
  vocabulary: smallVocabulary,
};
