/** Resampling against sines, whose samples at any rate are known. tests/interop/browser-client runs the rest in browsers. */
import { describe, expect, test } from 'vitest';
import { ChunkQueue } from './chunk-queue.ts';
import { StreamResampler } from './stream-resampler.ts';

const sine = (hertz: number, rate: number, count: number): Float32Array =>
  Float32Array.from({ length: count }, (_, at) => Math.sin((2 * Math.PI * hertz * at) / rate));

/** In pieces of these lengths, over and over. */
function pushed(resampler: StreamResampler, samples: Float32Array, lengths: readonly number[]): Float32Array {
  const parts: number[] = [];
  for (let at = 0, turn = 0; at < samples.length; turn++) {
    const length = lengths[turn % lengths.length] as number;
    parts.push(...resampler.push(samples.subarray(at, at + length)));
    at += length;
  }
  return Float32Array.from(parts);
}

/** Away from the beginning, where nothing was before. */
const settled = 64;
const differenceOf = (one: Float32Array, other: Float32Array): number =>
  one
    .subarray(settled)
    .reduce((most, value, at) => Math.max(most, Math.abs(value - (other[at + settled] as number))), 0);

describe('resampling', () => {
  test.each([
    [48_000, 16_000],
    [44_100, 16_000],
    [16_000, 16_000],
    [8000, 16_000],
    [96_000, 8000],
  ])('from %d to %d samples a second a tone stays the tone it was', (from, to) => {
    for (const hertz of [100, 1000, Math.min(from, to) * 0.35]) {
      const answer = pushed(new StreamResampler(from, to), sine(hertz, from, from / 4), [128]);
      // All but what waits for samples to come.
      expect(answer.length).toBeGreaterThan(to / 4 - 64);
      expect(answer.length).toBeLessThanOrEqual(to / 4);
      expect(differenceOf(answer, sine(hertz, to, answer.length))).toBeLessThan(0.003);
    }
  });

  test('a tone above what the lower rate can hold is taken out, not folded into another', () => {
    const answer = pushed(new StreamResampler(48_000, 16_000), sine(11_000, 48_000, 12_000), [128]);
    expect(differenceOf(answer, new Float32Array(answer.length))).toBeLessThan(0.003);
  });

  test('the pieces in which samples come make no difference', () => {
    const samples = sine(440, 44_100, 10_000);
    const whole = new StreamResampler(44_100, 16_000).push(samples);
    for (const lengths of [[1], [128], [3, 500, 1, 77]]) {
      expect(pushed(new StreamResampler(44_100, 16_000), samples, lengths)).toEqual(whole);
    }
  });

  test('however long it runs, the time is right to the sample', () => {
    const resampler = new StreamResampler(44_100, 16_000);
    const second = new Float32Array(44_100);
    let count = 0;
    for (let at = 0; at < 12; at++) count += resampler.push(second).length;
    expect(12 * 16_000 - count).toBeGreaterThanOrEqual(0);
    expect(12 * 16_000 - count).toBeLessThan(64);
  });

  test('a rate that is none is refused', () => {
    expect(() => new StreamResampler(0, 16_000)).toThrow('sample rates are positive, not 0 and 16000');
  });
});

describe('chunks', () => {
  const rates = { fromRate: 16_000, sampleRate: 16_000 };

  test('have their length, and come in order', async () => {
    const queue = new ChunkQueue({ ...rates, chunkSamples: 320, chunksMax: 100 });
    const samples = sine(300, 16_000, 2000);
    const seen: Float32Array[] = [];
    const reading = (async () => {
      for await (const chunk of queue) seen.push(chunk);
    })();
    for (let at = 0; at < samples.length; at += 128) {
      queue.push(samples.subarray(at, at + 128));
      await Promise.resolve();
    }
    queue.end();
    await reading;
    expect(seen.map(({ length }) => length)).toEqual([320, 320, 320, 320, 320, 320]);
    const joined = Float32Array.from(seen.flatMap((chunk) => [...chunk]));
    expect(differenceOf(joined, samples)).toBeLessThan(1e-6);
  });

  test('beyond the limit the oldest are dropped, and that is told', async () => {
    const dropped: number[] = [];
    const queue = new ChunkQueue({
      ...rates,
      chunkSamples: 10,
      chunksMax: 3,
      onDropped: (chunks) => dropped.push(chunks),
    });
    queue.push(Float32Array.from({ length: 116 }, (_, at) => at));
    queue.push(Float32Array.from({ length: 10 }, (_, at) => 116 + at));
    queue.end();
    queue.push(new Float32Array(100));
    const starts: number[] = [];
    for await (const chunk of queue) starts.push(Math.round(chunk[0] as number));
    expect(starts).toEqual([80, 90, 100]);
    expect(dropped).toEqual([7, 1]);
  });
});
