/** The ideal a queue is measured by: one server, fixed service time, arrivals of a Poisson process, no other cost at all. */

/** Seeded, so that every run and every contestant sees the same arrivals. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Times in milliseconds from 0 at which requests arrive. */
export function poissonArrivals(ratePerSecond: number, seconds: number, seed: number): readonly number[] {
  const random = seededRandom(seed);
  const arrivals: number[] = [];
  const gapMs = (): number => (-Math.log(1 - random()) * 1000) / ratePerSecond;
  let at = gapMs();
  while (at < seconds * 1000) {
    arrivals.push(at);
    at += gapMs();
  }
  return arrivals;
}

/** How long each of these would take, waiting included, from an M/D/1 queue: Lindley's recursion on the very arrivals. */
export function idealLatencies(arrivals: readonly number[], serviceMs: number): readonly number[] {
  let freeAt = 0;
  return arrivals.map((at) => {
    freeAt = Math.max(freeAt, at) + serviceMs;
    return freeAt - at;
  });
}
