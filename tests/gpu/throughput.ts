/**
 * Images a second by batch size: the engine's bare `session.run` in this process, the server with requests of that many
 * images, and the server with requests of one image that it batches itself. Figures, not claims: nothing here can fail
 * but the runs themselves.
 */
import type { EmbeddedEngine } from 'millrace';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { imageShape, imagesOf, inputName, logitsOf, withModels } from './gpu-model.ts';

const sizes = [1, 8, 32, 64] as const;
const warmUpMs = 1000;
const measuredMs = 2000;
/** Enough for a batch to wait while another runs. */
const batchesInFlight = 3;

/** Each is of another size than the one before. */
const changingSizes = Array.from({ length: 64 }, (_, index) => 1 + ((index * 13) % 32));

interface Row {
  readonly size: number;
  readonly firstMs: number;
  readonly rawMs: number;
  readonly raw: number;
  readonly whole: number;
  readonly single: number;
}

export async function printThroughput(file: string): Promise<void> {
  const session = await InferenceSession.create(file, { executionProviders: [{ name: 'cuda', deviceId: 0 }, 'cpu'] });
  const configs = Object.fromEntries(
    sizes.map((size) => [
      `batch_${size}`,
      `max_batch_size: ${size} instance_group { kind: KIND_GPU count: 1 gpus: [ 0 ] }`,
    ]),
  );
  await withModels(file, configs, async (engine) => {
    const rows: Row[] = [];
    for (const size of sizes) {
      const model = `batch_${size}`;
      const images = imagesOf(size, size);
      const raw = await rawSession(session, images, size);
      const whole = await imagesPerSecond(size, batchesInFlight, () => logitsOf(engine, model, images));
      const single = await singles(engine, model, size);
      rows.push({ size, ...raw, whole, single });
    }
    console.log('| images a batch | first run | run | `session.run` | requests of a batch | requests of one image |');
    console.log('|---|---|---|---|---|---|');
    for (const { size, firstMs, rawMs, raw, whole, single } of rows) {
      const rates = [raw, whole, single].map((rate) => `${Math.round(rate)}/s`).join(' | ');
      console.log(`| ${size} | ${firstMs.toFixed(0)} ms | ${rawMs.toFixed(2)} ms | ${rates} |`);
    }
  });
  await session.release();
  await printChangingSizes(file);
}

/** Requests one after another: of one size, of changing sizes that are filled up, as by default, and as they are. */
async function printChangingSizes(file: string): Promise<void> {
  const onGpu = 'max_batch_size: 32 instance_group { kind: KIND_GPU count: 1 gpus: [ 0 ] }';
  const any = `${onGpu} parameters { key: "millrace.gpu_batch_sizes" value { string_value: "any" } }`;
  await withModels(file, { filled: onGpu, any }, async (engine) => {
    const largest = changingSizes.map(() => Math.max(...changingSizes));
    console.log('| requests one after another | median | longest |');
    console.log('|---|---|---|');
    await printLatency('one size', engine, 'filled', largest);
    await printLatency('changing sizes, filled up', engine, 'filled', changingSizes);
    await printLatency('changing sizes, as they are', engine, 'any', changingSizes);
  });
}

async function printLatency(
  title: string,
  engine: EmbeddedEngine,
  model: string,
  asked: readonly number[],
): Promise<void> {
  const took: number[] = [];
  for (const size of asked) {
    const images = imagesOf(size, size);
    const begin = performance.now();
    await logitsOf(engine, model, images);
    took.push(performance.now() - begin);
  }
  took.sort((one, other) => one - other);
  const [median = 0, longest = 0] = [took[took.length >> 1], took.at(-1)];
  console.log(`| ${title} | ${median.toFixed(1)} ms | ${longest.toFixed(1)} ms |`);
}

async function rawSession(
  session: InferenceSession,
  images: Float32Array,
  size: number,
): Promise<Pick<Row, 'firstMs' | 'rawMs' | 'raw'>> {
  const feeds = { [inputName]: new Tensor('float32', images, [size, ...imageShape]) };
  const begin = performance.now();
  await session.run(feeds);
  const firstMs = performance.now() - begin;
  const raw = await imagesPerSecond(size, 1, () => session.run(feeds));
  return { firstMs, rawMs: (size * 1000) / raw, raw };
}

function singles(engine: EmbeddedEngine, model: string, size: number): Promise<number> {
  const image = imagesOf(size, 1);
  return imagesPerSecond(1, size * batchesInFlight, () => logitsOf(engine, model, image));
}

/** Several callers, each with one request after another. Only answers after the warm-up count. */
async function imagesPerSecond(images: number, callers: number, ask: () => Promise<unknown>): Promise<number> {
  const begin = performance.now() + warmUpMs;
  const end = begin + measuredMs;
  let answered = 0;
  let first = Number.POSITIVE_INFINITY;
  let last = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() < end) {
      await ask();
      const now = performance.now();
      if (now < begin) continue;
      if (first === Number.POSITIVE_INFINITY) first = now;
      else answered += images;
      last = now;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return (answered * 1000) / (last - first);
}
