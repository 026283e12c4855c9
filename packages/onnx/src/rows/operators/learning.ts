/** ai.onnx.ml: trees, linear models and related operators. Rows of features on two axes, or one sample as a list. */
import { isRows } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { OperatorCall, Transfer } from '../call.ts';
import { Size } from '../size.ts';
import { mixed, mustHaveDims, plain, rows, unknown } from '../value.ts';

/** How many numbers a model gives for each sample; undefined: not known. */
type Width = (call: OperatorCall) => number | undefined;

/** As many as there are classes, and two where one is left out because there are but two. */
export const classes: Width = (call) => {
  const labels =
    call.attribute('classlabels_strings') ?? call.attribute('classlabels_int64s') ?? call.attribute('classlabels_ints');
  const count = labels?.kind === 'texts' || labels?.kind === 'integers' ? labels.value.length : 0;
  return count >= 2 ? count : undefined;
};

/** One for each intercept; what a single one makes is left open. */
export const linearClasses: Width = (call) => {
  const count = classes(call);
  const intercepts = call.attribute('intercepts');
  return intercepts?.kind === 'floats' && intercepts.value.length === count ? count : undefined;
};

export function widthFrom(attribute: string, fallback: number | undefined): Width {
  return (call) => (call.has(attribute) ? call.integer(attribute, 0) : fallback);
}

export const unknownWidth: Width = () => undefined;

/** Models of samples with rows in front; outputs are a label for each, where there are labels, and numbers. */
export function samples(hasLabels: boolean, width: Width): Transfer {
  return (call) => {
    const value = call.input(0);
    mustNotCount(call.given);
    const dims = mustHaveDims(value);
    const count = width(call);
    const numbers = count === undefined ? call.symbols.size() : Size.constant(count);
    if (!isRows(value)) {
      const batch = call.symbols.size();
      return [...(hasLabels ? [plain([batch])] : []), plain([batch, numbers])];
    }
    if (dims.length === 1) throw mixed('a list is one sample, not a row for each element');
    if (dims.length !== 2) throw unknown('the input does not have two axes');
    if (value.axis !== 0) throw mixed('the batch axis is taken for features');
    const batch = dims[0] as Size;
    return [...(hasLabels ? [rows([batch], 0)] : []), rows([batch, numbers], 0)];
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
  const categories = call.attribute('cats_strings') ?? call.attribute('cats_int64s');
  const isListed = categories?.kind === 'texts' || categories?.kind === 'integers';
  const shape = [...mustHaveDims(value), isListed ? Size.constant(categories.value.length) : call.symbols.size()];
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

/** StringNormalizer: removes elements only where it has stop words. */
export const normalisedTexts: Transfer = (call) => {
  const value = call.input(0);
  if (!isRows(value)) return plain(undefined);
  if (call.has('stopwords')) throw unknown('it may remove elements');
  if (value.dims.length !== 1) throw unknown('the input does not have one axis');
  return value;
};

/** StringSplit: the parts, as many as the longest text has, and how many each text has. */
export const splitTexts: Transfer = (call) => {
  const value = call.input(0);
  if (!isRows(value)) return [plain(undefined), plain(value.dims)];
  return [{ kind: 'mixed', isCertain: true, reason: 'the longest text of all rows decides the size' }, value];
};
