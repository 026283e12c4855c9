/**
 * Serves the same model under two names, `on_gpu` and `on_cpu`, and holds the answers of one to those of the other.
 * Usage: node tests/dist/gpu/compare-devices.js FOLDER, see run.sh.
 */
import { createEngine, type Engine } from 'millrace';

/** Apart from the order of sums nothing may differ; TF32 on recent GPUs rounds inputs to 10 bits. */
const differenceMax = 0.01;
const requests = 32;

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: compare-devices.js FOLDER');
const engine = await createEngine({ models: folder });
try {
  const { inputs } = engine.model('on_gpu');
  const first = inputs[0];
  if (first === undefined) throw new Error('the model has no input');
  const shape = first.shape.map((size, axis) => (axis === 0 ? 1 : size));
  if (shape.some((size) => size < 1)) throw new Error(`the input ${first.name} has a free size: ${first.shape}`);
  const images = Array.from({ length: requests }, (_, seed) => imageOf(seed + 1));
  const [gpu, cpu] = [await answers('on_gpu'), await answers('on_cpu')];
  let worst = 0;
  for (const [index, values] of gpu.values.entries())
    worst = Math.max(worst, differenceOf(values, cpu.values[index] ?? []));
  console.log(`${requests} requests at once: GPU ${gpu.ms.toFixed(0)} ms, CPU ${cpu.ms.toFixed(0)} ms`);
  console.log(`largest relative difference: ${worst.toExponential(2)} (at most ${differenceMax})`);
  if (!(worst <= differenceMax)) process.exitCode = 1;

  async function answers(model: string): Promise<{ readonly values: readonly Float32Array[]; readonly ms: number }> {
    const startedAt = performance.now();
    const values = await Promise.all(images.map((image) => answerOf(engine, model, image)));
    return { values, ms: performance.now() - startedAt };
  }

  async function answerOf(server: Engine, model: string, data: Float32Array): Promise<Float32Array> {
    const { outputs } = await server.infer(model, { [first?.name ?? '']: { data, shape } });
    const output = Object.values(outputs)[0]?.data;
    if (!(output instanceof Float32Array)) throw new Error(`${model} did not answer with FP32 values`);
    return output;
  }

  function imageOf(seed: number): Float32Array {
    const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
    let state = seed;
    for (let index = 0; index < values.length; index++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      values[index] = state / 2 ** 31 - 1;
    }
    return values;
  }
} finally {
  await engine.close();
}

/** The largest difference of two lists, as a part of the largest value. */
function differenceOf(one: ArrayLike<number>, other: ArrayLike<number>): number {
  if (one.length !== other.length || one.length === 0) return Number.POSITIVE_INFINITY;
  let difference = 0;
  let scale = 0;
  for (let index = 0; index < one.length; index++) {
    difference = Math.max(difference, Math.abs((one[index] ?? Number.NaN) - (other[index] ?? Number.NaN)));
    scale = Math.max(scale, Math.abs(other[index] ?? 0));
  }
  return difference / (scale || 1);
}
