/** Sizes that an export has fixed: some can be served by runs of that size, others never. */
import { ModelFileError } from './model-file-error.ts';

export interface FixedSizes {
  /** The graph takes one text a run. */
  readonly isSingleRow: boolean;
  /** The graph takes one token of a text a run. */
  readonly isSingleToken: boolean;
}

interface SizedTensor {
  readonly name: string;
  readonly shape: readonly (number | string)[] | undefined;
}

export interface SizedInputs {
  /** [batch, new tokens] */
  readonly tokens: readonly SizedTensor[];
  /** [batch, all tokens] */
  readonly masks: readonly SizedTensor[];
  /** [batch] */
  readonly lengths: readonly SizedTensor[];
  /** [batch, heads, tokens of the cache, head size] */
  readonly caches: readonly SizedTensor[];
}

/** @param file the name of the graph's file. Throws a `ModelFileError` for a size that no run could have. */
export function readFixedSizes(file: string, { tokens, masks, lengths, caches }: SizedInputs): FixedSizes {
  const isOne = (tensors: readonly SizedTensor[], axis: number, what: string): boolean => {
    let isFixed = false;
    for (const { name, shape } of tensors) {
      const size = shape?.[axis];
      if (typeof size !== 'number') continue;
      if (size !== 1) throw fixed(file, name, what, size, 'free, or 1');
      isFixed = true;
    }
    return isFixed;
  };
  const mustBeFree = (tensors: readonly SizedTensor[], axis: number, what: string): void => {
    for (const { name, shape } of tensors) {
      const size = shape?.[axis];
      if (typeof size === 'number') throw fixed(file, name, what, size, 'free');
    }
  };
  mustBeFree(masks, 1, 'length');
  mustBeFree(caches, 2, 'cache length');
  // Without a cache every run reads the whole text.
  if (caches.length === 0) mustBeFree(tokens, 1, 'sequence length');
  return {
    isSingleRow: isOne([...tokens, ...masks, ...lengths, ...caches], 0, 'batch size'),
    isSingleToken: isOne(tokens, 1, 'sequence length'),
  };
}

function fixed(file: string, name: string, what: string, size: number, wanted: string): ModelFileError {
  return new ModelFileError(
    file,
    `input ${name} has the fixed ${what} ${size}; export it again with that size ${wanted}`,
  );
}
