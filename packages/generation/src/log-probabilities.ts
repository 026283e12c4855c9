/** How probable the model found a token, by the logits as it gave them: penalties, bias and temperature do not count. */

export interface TokenLogProbability {
  readonly id: number;
  /** The natural logarithm of its probability. */
  readonly logProbability: number;
}

export interface LogProbabilities {
  readonly chosen: TokenLogProbability;
  /** The most probable tokens, the first one most of all; equal ones in order of their ids. */
  readonly top: readonly TokenLogProbability[];
}

/** The most that OpenAI's clients can ask for. */
export const topLogProbabilitiesMax = 20;

export function logProbabilitiesOf(logits: Float32Array, chosenId: number, topCount: number): LogProbabilities {
  if (!Number.isInteger(topCount) || topCount < 0 || topCount > topLogProbabilitiesMax) {
    throw new RangeError(`top log-probabilities: ${topCount} is not an integer from 0 to ${topLogProbabilitiesMax}`);
  }
  let greatestLogit = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < logits.length; id++) greatestLogit = Math.max(greatestLogit, logits[id] as number);
  let sum = 0;
  for (let id = 0; id < logits.length; id++) sum += Math.exp((logits[id] as number) - greatestLogit);
  const logOfSum = Math.log(sum);
  // The difference first: next to a large logit the logarithm would be lost.
  const entryOf = (id: number): TokenLogProbability => {
    return { id, logProbability: (logits[id] as number) - greatestLogit - logOfSum };
  };
  return { chosen: entryOf(chosenId), top: mostProbable(logits, topCount).map(entryOf) };
}

/** Ids by insertion: there are few, and most logits are below the last of them. */
function mostProbable(logits: Float32Array, count: number): readonly number[] {
  const ids: number[] = [];
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id] as number;
    if (ids.length === count && (count === 0 || !(logit > (logits[ids[count - 1] as number] as number)))) continue;
    let at = ids.length;
    while (at > 0 && logit > (logits[ids[at - 1] as number] as number)) at -= 1;
    ids.splice(at, 0, id);
    if (ids.length > count) ids.pop();
  }
  return ids;
}
