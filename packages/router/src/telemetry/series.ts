/**
 * Series for the hot path: already bound to their labels, so that counting is an addition and observing is a short search
 * in a flat array. docs/adr/0010-metrics-registry.md has the measurements.
 */

/** Only rises. Collectors that mirror a count kept elsewhere assign `value`; all other code calls `add`. */
export class Counter {
  value = 0;

  add(amount: number): void {
    this.value += amount;
  }
}

export class Gauge {
  value = 0;

  set(value: number): void {
    this.value = value;
  }

  add(amount: number): void {
    this.value += amount;
  }
}

export class Histogram {
  /** Upper bounds, inclusive, ascending; values above the last one are counted at `counts[bounds.length]`. */
  readonly bounds: Float64Array;
  /** Per bucket, not cumulative: an observation changes one, and a scrape adds them up. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(bounds: Float64Array) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    const bounds = this.bounds;
    let low = 0;
    let high = bounds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (value <= (bounds[middle] as number)) high = middle;
      else low = middle + 1;
    }
    this.counts[low] = (this.counts[low] as number) + 1;
    this.sum += value;
  }

  get count(): number {
    let count = 0;
    for (const inBucket of this.counts) count += inBucket;
    return count;
  }
}

export type Series = Counter | Gauge | Histogram;
