/** Brings samples from one rate to another as they come, with a windowed sinc: what lies above the lower rate's half is taken out. */

/** Zero crossings of the kernel on each side: more are sharper and later. At 48 kHz to 16 kHz the delay is 1 ms. */
const crossings = 16;
/** Table entries between two zero crossings; values between them are interpolated. */
const entriesPerCrossing = 256;
/** Of the lower rate's half: the rest is the slope of the filter. */
const passedShare = 0.92;

export class StreamResampler {
  /** Input samples between two outputs. */
  readonly #step: number;
  /** Cut-off, in halves of the input rate. */
  readonly #cutoff: number;
  /** Input samples that the kernel reaches to each side. */
  readonly #reach: number;
  readonly #table: Float32Array;
  /** Input samples that are still needed; the first is the input's number `#first`. */
  #kept: Float32Array<ArrayBuffer> = new Float32Array(0);
  #first = 0;
  #output = 0;

  constructor(fromRate: number, toRate: number) {
    if (!(fromRate > 0 && toRate > 0)) throw new RangeError(`sample rates are positive, not ${fromRate} and ${toRate}`);
    this.#step = fromRate / toRate;
    this.#cutoff = fromRate === toRate ? 1 : Math.min(1, toRate / fromRate) * passedShare;
    this.#reach = Math.ceil(crossings / this.#cutoff);
    this.#table = kernelTable(this.#cutoff);
  }

  /** The outputs that these samples complete; a few wait for samples to come. */
  push(samples: Float32Array): Float32Array<ArrayBuffer> {
    const joined = new Float32Array(this.#kept.length + samples.length);
    joined.set(this.#kept);
    joined.set(samples, this.#kept.length);
    const end = this.#first + joined.length;
    const ready: number[] = [];
    let at = this.#output * this.#step;
    while (at + this.#reach < end) {
      ready.push(this.#valueAt(joined, at));
      this.#output += 1;
      // From the count, so that no error adds up over hours.
      at = this.#output * this.#step;
    }
    const needed = Math.max(this.#first, Math.floor(at) - this.#reach);
    this.#kept = joined.slice(needed - this.#first);
    this.#first = needed;
    return Float32Array.from(ready);
  }

  #valueAt(samples: Float32Array, at: number): number {
    const from = Math.max(this.#first, Math.ceil(at - this.#reach));
    const to = Math.min(this.#first + samples.length - 1, Math.floor(at + this.#reach));
    const scale = this.#cutoff * entriesPerCrossing;
    let sum = 0;
    for (let index = from; index <= to; index++) {
      const entry = Math.abs(index - at) * scale;
      const low = Math.floor(entry);
      const below = this.#table[low] ?? 0;
      const above = this.#table[low + 1] ?? 0;
      sum += (samples[index - this.#first] as number) * (below + (above - below) * (entry - low));
    }
    return sum;
  }
}

/** One side of the kernel, from its middle. */
function kernelTable(cutoff: number): Float32Array {
  return Float32Array.from({ length: crossings * entriesPerCrossing + 1 }, (_, entry) => {
    const crossing = entry / entriesPerCrossing;
    const sinc = crossing === 0 ? 1 : Math.sin(Math.PI * crossing) / (Math.PI * crossing);
    // Blackman's window: what leaks through is below -70 dB.
    const phase = (Math.PI * crossing) / crossings;
    return cutoff * sinc * (0.42 + 0.5 * Math.cos(phase) + 0.08 * Math.cos(2 * phase));
  });
}
