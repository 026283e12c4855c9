// A picture in, the shapes in it out: what each is, how sure the network is, and its box in pixels of the picture.
import { readFileSync } from 'node:fs';
import { definePipeline, invalid } from 'millrace/pipeline';

const labels = readFileSync(new URL('../../spotter_tensors/labels.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');
/** Of the square that the network sees. */
const side = 128;
const probabilityMin = 0.4;

export default definePipeline({
  inputs: { image: { datatype: 'BYTES', shape: [1] } },
  outputs: {
    label: { datatype: 'BYTES', shape: [-1] },
    probability: { datatype: 'FP32', shape: [-1] },
    /** Left, top, right, bottom. */
    box: { datatype: 'FP32', shape: [-1, 4] },
  },

  async run({ inputs }, context) {
    const [file] = inputs.image.data;
    if (file === undefined) throw invalid("input 'image' has no element; send one picture");
    const whole = await context.images.decode(file, { layout: 'HWC', channels: 1, datatype: 'UINT8' });
    const [height = 0, width = 0] = whole.shape;
    const frame = await context.images.decode(file, {
      width: side,
      height: side,
      fit: 'contain',
      layout: 'HWC',
      datatype: 'UINT8',
    });
    const answer = await context.infer('spotter_tensors', { frame: { data: frame.data, shape: [1, side, side, 3] } });
    const classes = answer.classes?.data as BigInt64Array;
    const scores = answer.scores?.data as Float32Array;
    const boxes = answer.boxes?.data as Float32Array;
    const found = [...classes.keys()].filter((index) => (scores[index] as number) >= probabilityMin);
    const toPicture = placement(width, height);
    return {
      label: { data: found.map((index) => labels[Number(classes[index])] ?? '') },
      probability: { data: Float32Array.from(found, (index) => scores[index] as number) },
      box: {
        data: Float32Array.from(found.flatMap((index) => toPicture(boxes.subarray(4 * index, 4 * index + 4)))),
        shape: [found.length, 4],
      },
    };
  },
});

/** From the square back to the picture, which lies in its middle with black bars beside it. */
function placement(width: number, height: number): (box: Float32Array) => readonly number[] {
  const scale = side / Math.max(width, height);
  const left = (side - width * scale) / 2;
  const top = (side - height * scale) / 2;
  const within = (value: number, max: number): number => Math.min(max, Math.max(0, value));
  return (box) =>
    Array.from(box, (value, edge) =>
      edge % 2 === 0 ? within((value - left) / scale, width) : within((value - top) / scale, height),
    );
}
