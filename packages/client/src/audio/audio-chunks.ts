/** Sound of a browser, from a microphone or any other MediaStream, as chunks of samples at the rate that a model takes. */
import { ChunkQueue } from './chunk-queue.ts';

export interface AudioChunkOptions {
  /** That of the model, such as 16000. The sound is resampled. */
  readonly sampleRate: number;
  /** Samples of a chunk: what the model takes at once. */
  readonly chunkSamples: number;
  /** How much sound may wait for the program, in seconds; older sound is dropped. */
  readonly secondsMax?: number;
  /** Called with the number of chunks that were dropped. */
  readonly onDropped?: (chunks: number) => void;
}

/** Iterate over it; leaving the iteration stops it. */
export interface AudioChunks extends AsyncIterable<Float32Array<ArrayBuffer>> {
  /** Ends the iteration, after what waits. A microphone is switched off. */
  stop(): void;
}

const secondsMaxDefault = 30;
const processorName = 'millrace-samples';

/** Runs beside the page, in the thread of the sound: all channels as one. */
const processorModule = `registerProcessor('${processorName}', class extends AudioWorkletProcessor {
  process([channels]) {
    if (channels.length > 0) {
      const samples = new Float32Array(channels[0].length);
      for (const channel of channels) for (let at = 0; at < samples.length; at++) samples[at] += channel[at] / channels.length;
      this.port.postMessage(samples, [samples.buffer]);
    }
    return true;
  }
});`;

/** The microphone, after the person has allowed it. Call it from a click: browsers let no page listen or sound before one. */
export async function microphoneChunks(options: AudioChunkOptions): Promise<AudioChunks> {
  const media = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const stopTracks = (): void => {
    for (const track of media.getTracks()) track.stop();
  };
  try {
    return await chunksOf(media, options, stopTracks);
  } catch (error) {
    stopTracks();
    throw error;
  }
}

/** Any stream with sound: of a call, a video, another AudioContext. Ends with its sound. */
export function audioChunks(media: MediaStream, options: AudioChunkOptions): Promise<AudioChunks> {
  return chunksOf(media, options, () => {});
}

async function chunksOf(media: MediaStream, options: AudioChunkOptions, onStop: () => void): Promise<AudioChunks> {
  const [track] = media.getAudioTracks();
  if (track === undefined) throw new TypeError('the MediaStream has no sound: it has no audio track');
  const { sampleRate, chunkSamples, secondsMax = secondsMaxDefault, onDropped } = options;
  // At the rate of the device: a context of another rate takes no microphone in Firefox.
  const context = new AudioContext();
  let stop = (): void => void context.close();
  try {
    const queue = new ChunkQueue({
      fromRate: context.sampleRate,
      sampleRate,
      chunkSamples,
      chunksMax: Math.max(1, Math.ceil((secondsMax * sampleRate) / chunkSamples)),
      onDropped,
    });
    await addProcessor(context);
    const source = context.createMediaStreamSource(media);
    const samples = new AudioWorkletNode(context, processorName);
    samples.port.onmessage = ({ data }: MessageEvent<Float32Array>) => queue.push(data);
    // It sounds of nothing, and is run only where it leads somewhere.
    source.connect(samples).connect(context.destination);
    let isStopped = false;
    stop = () => {
      if (isStopped) return;
      isStopped = true;
      track.removeEventListener('ended', stop);
      samples.port.onmessage = null;
      queue.end();
      onStop();
      void context.close();
    };
    track.addEventListener('ended', stop);
    await context.resume();
    return {
      stop,
      async *[Symbol.asyncIterator]() {
        try {
          yield* queue;
        } finally {
          stop();
        }
      },
    };
  } catch (error) {
    stop();
    throw error;
  }
}

async function addProcessor(context: AudioContext): Promise<void> {
  const url = URL.createObjectURL(new Blob([processorModule], { type: 'text/javascript' }));
  try {
    await context.audioWorklet.addModule(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}
