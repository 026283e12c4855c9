// Names of the items that a shopper looked at, put into her cart or bought in, what to show her next out.
import { readFileSync } from 'node:fs';
import { decodeTexts, definePipeline, invalid } from 'millrace/pipeline';
import { nearestNames } from './nearest-names.ts';

/** The line is the id; 0 is none. Two items may have one name: it means the first. */
const names = readFileSync(new URL('../../recommender_tensors/items.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');
/** What she did may stand before a name: `bought: basic rustic apron by Tarn`. */
const kindPattern = /^(viewed|cart|bought):/;
const kinds = ['viewed', 'cart', 'bought'];
const historyMax = 32;

export default definePipeline({
  inputs: {
    /** What she saw last comes last. */
    items: { datatype: 'BYTES', shape: [-1] },
  },
  outputs: {
    item: { datatype: 'BYTES', shape: [-1] },
    probability: { datatype: 'FP32', shape: [-1] },
  },

  async run({ inputs }, context) {
    const given = decodeTexts('items', inputs.items);
    if (given.length === 0) throw invalid(`input 'items' has no element; send names of items, such as "${names[1]}"`);
    const events = given.map(eventFrom);
    const answer = await context.infer('recommender_tensors', {
      items: lastOf(events.map(({ id }) => id)),
      kinds: lastOf(events.map(({ kind }) => kind)),
    });
    const next = answer.next_items?.data as BigInt64Array;
    const scores = answer.scores?.data as Float32Array;
    const byName = new Map<string, number>();
    for (const [index, id] of next.entries()) {
      const name = names[Number(id)] ?? '';
      byName.set(name, (byName.get(name) ?? 0) + (scores[index] as number));
    }
    const best = [...byName].toSorted(([, left], [, right]) => right - left);
    return {
      item: { data: best.map(([name]) => name) },
      probability: { data: Float32Array.from(best, ([, probability]) => probability) },
    };
  },
});

function eventFrom(text: string, index: number): { readonly id: number; readonly kind: number } {
  const kind = kindPattern.exec(text)?.[1] ?? 'viewed';
  const name = text.replace(kindPattern, '').trim();
  const id = names.indexOf(name, 1);
  if (id > 0) return { id, kind: kinds.indexOf(kind) + 1 };
  const near = nearestNames(name, names.slice(1)).map((item) => `"${item}"`);
  throw invalid(`items[${index}] is "${name}", which the shop does not have; did you mean ${near.join(', ')}?`);
}

/** The last 32, padded on the left with 0. */
function lastOf(values: readonly number[]): { readonly data: BigInt64Array; readonly shape: readonly number[] } {
  const last = values.slice(-historyMax);
  const data = new BigInt64Array(historyMax);
  data.set(last.map(BigInt), historyMax - last.length);
  return { data, shape: [1, historyMax] };
}
