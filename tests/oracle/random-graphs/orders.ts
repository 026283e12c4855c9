/** In which order the requests of a graph are sent, all of them in one turn. */
import { FuzzRandom } from '../../fuzz/random.ts';

/** Each round sends every request twice, so that more wait than the instance takes at once and the rest share runs. */
export function ordersOf(requests: number, seed: number, rounds: number): readonly (readonly number[])[] {
  const random = new FuzzRandom(seed);
  return Array.from({ length: rounds }, () => {
    const order = Array.from({ length: 2 * requests }, (_, index) => index % requests);
    for (let at = order.length - 1; at > 0; at--) {
      const other = random.below(at + 1);
      [order[at], order[other]] = [order[other] as number, order[at] as number];
    }
    return order;
  });
}
