// A photograph of a handwritten digit in, which digit it is out: decode, find the ink, ask the network, name the answer.
import { readFileSync } from 'node:fs';
import { definePipeline, invalid } from 'millrace/pipeline';
import { framed, inkOf } from './ink.ts';

const labels = readFileSync(new URL('../../digits_tensors/labels.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');
const side = 28;

export default definePipeline({
  inputs: { image: { datatype: 'BYTES', shape: [1] } },
  outputs: {
    label: { datatype: 'BYTES', shape: [1] },
    digit: { datatype: 'INT32', shape: [1] },
    probability: { datatype: 'FP32', shape: [1] },
  },

  async run({ inputs }, context) {
    const [file] = inputs.image.data;
    if (file === undefined) throw invalid("input 'image' has no element; send one picture");
    // As wide as the ink needs to be seen; the height follows.
    const picture = await context.images.decode(file, { width: 256, channels: 1 });
    const [, height = 0, width = 0] = picture.shape;
    const ink = inkOf(picture.data as Float32Array, width, height);
    if (ink === undefined) throw invalid('the picture shows no ink; photograph one digit on plain paper');
    const { probabilities } = await context.infer('digits_tensors', {
      image: { data: framed(ink, side), shape: [1, 1, side, side] },
    });
    const scores = probabilities?.data as Float32Array;
    const digit = scores.indexOf(Math.max(...scores));
    return {
      label: { data: [labels[digit] ?? ''] },
      digit: { data: Int32Array.of(digit) },
      probability: { data: Float32Array.of(scores[digit] ?? 0) },
    };
  },
});
