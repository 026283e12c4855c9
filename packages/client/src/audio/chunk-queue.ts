/** Samples in, chunks of a fixed length out: what lies between a microphone, which does not wait, and a program, which may. */
import { StreamResampler } from './stream-resampler.ts';

export interface ChunkQueueOptions {
  /** Of the samples that are pushed. */
  readonly fromRate: number;
  /** Of the chunks. */
  readonly sampleRate: number;
  /** Samples of a chunk. */
  readonly chunkSamples: number;
  /** Chunks that may wait; further ones drop the oldest. */
  readonly chunksMax: number;
  /** Called with the number of chunks that were dropped. */
  readonly onDropped?: ((chunks: number) => void) | undefined;
}

export class ChunkQueue implements AsyncIterable<Float32Array<ArrayBuffer>> {
  readonly #options: ChunkQueueOptions;
  readonly #resampler: StreamResampler;
  readonly #ready: Float32Array<ArrayBuffer>[] = [];
  #filling: Float32Array<ArrayBuffer>;
  #filled = 0;
  #state: 'open' | 'ended' = 'open';
  /** Of those who iterate. */
  #waiting: (() => void)[] = [];

  constructor(options: ChunkQueueOptions) {
    this.#options = options;
    this.#resampler = new StreamResampler(options.fromRate, options.sampleRate);
    this.#filling = new Float32Array(options.chunkSamples);
  }

  push(samples: Float32Array): void {
    if (this.#state === 'ended') return;
    const { chunkSamples, chunksMax, onDropped } = this.#options;
    const resampled = this.#resampler.push(samples);
    for (let at = 0; at < resampled.length; ) {
      const part = resampled.subarray(at, at + chunkSamples - this.#filled);
      this.#filling.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled < chunkSamples) break;
      this.#ready.push(this.#filling);
      this.#filling = new Float32Array(chunkSamples);
      this.#filled = 0;
    }
    const dropped = this.#ready.splice(0, Math.max(0, this.#ready.length - chunksMax)).length;
    if (dropped > 0) onDropped?.(dropped);
    this.#wake();
  }

  /** What waits is still given out; a chunk that is not full is not. */
  end(): void {
    this.#state = 'ended';
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Float32Array<ArrayBuffer>, void> {
    for (;;) {
      const chunk = this.#ready.shift();
      if (chunk !== undefined) yield chunk;
      else if (this.#state === 'ended') return;
      else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
