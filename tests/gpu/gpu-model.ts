/** The model that all of this is tried with, under as many names and configurations as a check wants. */
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createEngine, type EmbeddedEngine, type EngineOptions } from 'millrace';

export const inputName = 'image';
export const outputName = 'logits';
export const imageShape: readonly number[] = [3, 224, 224];
const imageElements = imageShape.reduce((product, size) => product * size);

/** Apart from the order of sums nothing may differ; TF32 on recent GPUs rounds inputs to 10 bits. */
export const differenceMax = 0.01;

/** Serves `file` under each name with its configuration for as long as `run` takes. Models that fail stay listed. */
export async function withModels<T>(
  file: string,
  configs: Readonly<Record<string, string>>,
  run: (engine: EmbeddedEngine) => Promise<T>,
  options: Omit<EngineOptions, 'models'> = {},
): Promise<T> {
  // Beside the file, for a link to it to be possible.
  const folder = mkdtempSync(join(dirname(file), 'served-'));
  try {
    for (const [name, config] of Object.entries(configs)) {
      mkdirSync(join(folder, name, '1'), { recursive: true });
      linkSync(file, join(folder, name, '1/model.onnx'));
      writeFileSync(join(folder, name, 'config.pbtxt'), config);
    }
    const engine = await createEngine({ ...options, models: folder, allowFailures: true });
    try {
      return await run(engine);
    } finally {
      await engine.close();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Images that are the same on every run, one after another. */
export function imagesOf(seed: number, count: number): Float32Array {
  const values = new Float32Array(count * imageElements);
  let state = seed;
  for (let index = 0; index < values.length; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    values[index] = state / 2 ** 31 - 1;
  }
  return values;
}

export async function logitsOf(engine: EmbeddedEngine, model: string, images: Float32Array): Promise<Float32Array> {
  const shape = [images.length / imageElements, ...imageShape];
  const { outputs } = await engine.infer(model, { [inputName]: { data: images, shape } });
  const logits = outputs[outputName]?.data;
  if (!(logits instanceof Float32Array)) throw new Error(`${model} did not answer with FP32 values`);
  return logits;
}

/** The largest difference of two lists, as a part of the largest value. */
export function relativeDifference(one: ArrayLike<number>, other: ArrayLike<number>): number {
  if (one.length !== other.length || one.length === 0) return Number.POSITIVE_INFINITY;
  let difference = 0;
  let scale = 0;
  for (let index = 0; index < one.length; index++) {
    difference = Math.max(difference, Math.abs((one[index] ?? Number.NaN) - (other[index] ?? Number.NaN)));
    scale = Math.max(scale, Math.abs(other[index] ?? 0));
  }
  // Not a number is not a small difference.
  return Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference / (scale || 1);
}
