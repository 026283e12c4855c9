/** Losses without a reduction: one for each row. */
import { isRows } from '../axes.ts';
import { mustNotCount } from '../broadcast.ts';
import type { Transfer } from '../call.ts';
import type { Size } from '../size.ts';
import { mixed, mustHaveDims, plain, unknown } from '../value.ts';

/** NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss; the second output of the latter is the logarithm of the scores. */
export const loss: Transfer = (call) => {
  const [scores, labels, weights] = [call.input(0), call.input(1), call.inputs[2]];
  mustNotCount([scores, labels, weights]);
  if (weights !== undefined && weights.kind !== 'plain') throw unknown('its weights depend on the rows');
  if (!isRows(scores) && !isRows(labels)) return [plain(undefined), plain(scores.dims)];
  if (call.text('reduction', 'mean') !== 'none') throw mixed('it reduces over the batch axis');
  if (!isRows(scores) || !isRows(labels)) throw unknown('only some of its inputs have rows');
  if (scores.axis !== 0 || labels.axis !== 0) throw mixed('the batch axis is taken for classes');
  const isSame = (mustHaveDims(scores)[0] as Size).equals(labels.dims[0] as Size);
  if (!isSame) throw unknown('its inputs have different numbers of elements for each row');
  return [labels, scores];
};
