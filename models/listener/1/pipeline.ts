// A WAV file in, the commands that were said in it out, each with when it was recognized and how sure the network is.
import { readFileSync } from 'node:fs';
import { definePipeline, type GivenTensor, invalid, type PipelineTensor } from 'millrace/pipeline';
import { resampled } from './resample.ts';
import { soundFrom } from './wav.ts';
import { wordsFrom } from './words.ts';

const labels = readFileSync(new URL('../../listener_tensors/labels.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');
const rate = 16_000;
const frameSamples = 320;
/** A word is recognized up to 0.3 s after its end, where a recording may be over. */
const silentFrames = 20;
/** Each frame is a call, of which a request may make 1,024. */
const secondsMax = 20;

export default definePipeline({
  inputs: { audio: { datatype: 'BYTES', shape: [1] } },
  outputs: {
    word: { datatype: 'BYTES', shape: [-1] },
    seconds: { datatype: 'FP32', shape: [-1] },
    probability: { datatype: 'FP32', shape: [-1] },
  },

  async run({ inputs }, context) {
    const [file] = inputs.audio.data;
    if (file === undefined) throw invalid("input 'audio' has no element; send one WAV file");
    const sound = soundFrom(file);
    const seconds = sound.samples.length / sound.rate;
    if (seconds === 0) throw invalid("input 'audio' has no samples; record at least one word");
    if (seconds > secondsMax) {
      throw invalid(`input 'audio' is ${seconds.toFixed(1)} s long, more than ${secondsMax} s; send it in parts`);
    }
    const samples = resampled(sound.samples, sound.rate, rate);
    const frames: Float32Array[] = [];
    let state: Readonly<Record<string, GivenTensor>> = {
      audio_state: { data: new Float32Array(192), shape: [1, 192] },
      hidden_state: { data: new Float32Array(2 * 192), shape: [1, 2, 192] },
    };
    const count = Math.ceil(samples.length / frameSamples) + silentFrames;
    for (let frame = 0; frame < count; frame++) {
      const audio = new Float32Array(frameSamples);
      audio.set(samples.subarray(frame * frameSamples, (frame + 1) * frameSamples));
      const answer = await context.infer('listener_tensors', {
        audio: { data: audio, shape: [1, frameSamples] },
        ...state,
      });
      frames.push(answer.commands?.data as Float32Array);
      state = {
        audio_state: answer.audio_state_out as PipelineTensor,
        hidden_state: answer.hidden_state_out as PipelineTensor,
      };
    }
    const words = wordsFrom(frames);
    return {
      word: { data: words.map(({ label }) => labels[label] ?? '') },
      seconds: {
        data: Float32Array.from(words, ({ frame }) => Math.min(seconds, ((frame + 1) * frameSamples) / rate)),
      },
      probability: { data: Float32Array.from(words, ({ probability }) => probability) },
    };
  },
});
