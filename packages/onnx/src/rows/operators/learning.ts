/** ai.onnx.ml: trees, linear models and what stands around them. Rows of features on two axes, or one sample as a list. */
import { isRows } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { Transfer } from '../call.ts';
import { Size } from '../size.ts';
import { mixed, mustHaveDims, plain, rows, unknown } from '../value.ts';

/** Models of samples with rows in front. `ranks`: the number of axes of each output, the first being the rows. */
export function samples(ranks: readonly (1 | 2)[]): Transfer {
  return (call) => {
    const value = call.input(0);
    mustNotCount(call.given);
    const dims = mustHaveDims(value);
    if (isRows(value)) {
      if (dims.length === 1) throw mixed('a list is one sample, not a row for each element');
      if (dims.length !== 2) throw unknown('the input does not have two axes');
      if (value.axis !== 0) throw mixed('the batch axis is taken for features');
      const batch = dims[0] as Size;
      return ranks.map((rank) => (rank === 1 ? rows([batch], 0) : rows([batch, call.symbols.size()], 0)));
    }
    return ranks.map((rank) => plain(Array.from({ length: rank }, () => call.symbols.size())));
  };
}

/** One setting for each feature, the second axis: Scaler, Imputer, Normalizer. */
export const perFeature: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  if (!isRows(value)) return plain(dims);
  if (dims.length < 2) throw mixed('a list is one sample, not a row for each element');
  if (dims.length > 2) throw unknown('the input has more than two axes');
  if (value.axis !== 0) throw mixed('the batch axis is taken for features');
  return value;
};

/** OneHotEncoder: a new last axis. */
export const oneHotEncoder: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const shape = [...mustHaveDims(value), call.symbols.size()];
  return isRows(value) ? rows(shape, value.axis) : plain(shape);
};

/** FeatureVectorizer: features of several inputs side by side. */
export const joinFeatures: Transfer = (call) => {
  mustNotCount(call.given);
  const first = call.input(0);
  const shape = [mustHaveDims(first)[0] ?? Size.constant(1), call.symbols.size()];
  if (call.given.every(({ kind }) => kind === 'plain')) return plain(shape);
  for (const value of call.given) {
    if (!isRows(value) || value.axis !== 0 || value.dims.length !== 2)
      throw unknown('only some of its inputs have rows');
    if (!(value.dims[0] as Size).equals(shape[0] as Size))
      throw unknown('its inputs have different numbers of elements for each row');
  }
  return rows(shape, 0);
};

/** TfIdfVectorizer: a list is one text, two axes are texts. */
export const termFrequencies: Transfer = (call) => {
  const value = call.input(0);
  mustNotCount([value]);
  const dims = mustHaveDims(value);
  if (!isRows(value)) return plain([...dims.slice(0, -1), call.symbols.size()]);
  if (dims.length !== 2 || value.axis !== 0) throw mixed('a list is one text, not a row for each element');
  return rows([dims[0] as Size, call.symbols.size()], 0);
};
