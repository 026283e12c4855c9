/** Zero crossings of the filter on each side of a sample: more are more exact and take longer. */
const crossings = 16;

/** The same sound at another rate, by a windowed sinc: what the new rate cannot carry is filtered out. */
export function resampled(samples: Float32Array, from: number, to: number): Float32Array {
  if (from === to) return samples;
  const cutoff = Math.min(1, to / from);
  const reach = crossings / cutoff;
  return Float32Array.from({ length: Math.round((samples.length * to) / from) }, (_, index) => {
    const centre = (index * from) / to;
    let sum = 0;
    const last = Math.min(samples.length - 1, Math.floor(centre + reach));
    for (let at = Math.max(0, Math.ceil(centre - reach)); at <= last; at++) {
      const distance = at - centre;
      const window = 0.5 + 0.5 * Math.cos((Math.PI * distance) / reach);
      sum += (samples[at] as number) * window * cutoff * sinc(cutoff * distance);
    }
    return sum;
  });
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}
