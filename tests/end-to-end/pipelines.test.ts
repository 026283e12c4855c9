/** Pipelines as users write them, in a real server: a JPEG in gives a label out, over REST and gRPC. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { delimitedHead } from '@millrace/protocol';
import { ModelRepository, pngFile } from '@millrace/worker/testing';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const digits = [
  [0, 'zero'],
  [1, 'three'],
  [2, 'six'],
] as const;

const head = (inputs: string, outputs: string) => `import { definePipeline, invalid } from 'millrace/pipeline';
export default definePipeline({
  inputs: { ${inputs} },
  outputs: { ${outputs} },
`;
const number = (name: string) => `${name}: { datatype: 'FP32', shape: [1] }`;

const modules = {
  'looping/1/pipeline.ts': `${head(number('x'), number('y'))}
  async run({ inputs }, context) { return { y: (await context.infer('looping', { x: inputs.x })).y! }; } });`,
  'stuck/1/pipeline.js': `${head(number('x'), number('y'))}
  async run({ inputs }) { for (;;) if (inputs.x.data[0] < 0) break; return { y: inputs.x }; } });`,
  'faulty/1/pipeline.ts': `${head(number('x'), number('y'))}
  async run({ inputs }) {
    const first: number = inputs.x.data[0]!;
    if (first === 1) throw new RangeError('one is too many');
    if (first === 2) throw invalid('two is a crowd');
    if (first === 3) return { y: { data: new Float64Array(1) } } as never;
    return { y: { data: Float32Array.of(first / 2) } };
  } });`,
} as const;

let repository: ModelRepository;
let server: ServerProcess;
beforeAll(async () => {
  repository = new ModelRepository();
  for (const path of ['models/digits', 'models/digits_tensors', 'tests/models/image_mean']) {
    repository.copy(join(repositoryRoot, path));
  }
  repository.write('photo_size/1/pipeline.ts', exampleOf('docs/mechanisms/pipelines.md', 'photo_size/1/pipeline.ts'));
  for (const [path, text] of Object.entries(modules)) repository.write(path, text);
  repository.write(
    'stuck/config.pbtxt',
    'backend: "pipeline" parameters { key: "millrace.run_ms_max" value { string_value: "500" } }',
  );
  server = await ServerProcess.start([repository.path]);
});
afterAll(async () => {
  expect(await server.stop()).toBe(0);
  repository.remove();
});

/** Dark ink on white paper, off the middle, from the pixels of a digit that people wrote. */
async function photoOf(index: number, format: 'jpeg' | 'png'): Promise<Uint8Array> {
  const path = join(repositoryRoot, 'models/digits_tensors/golden', `digit-${index}.json`);
  const { inputs } = JSON.parse(readFileSync(path, 'utf8')) as { inputs: { data: number[] }[] };
  const pixels = Uint8Array.from(inputs[0]?.data ?? [], (value) => 255 - Math.round(255 * value));
  return sharp(pixels, { raw: { width: 28, height: 28, channels: 1 } })
    .resize(280, 280)
    .extend({ top: 60, bottom: 40, left: 200, right: 100, background: '#fff' })
    .toFormat(format)
    .toBuffer();
}

/** The code block of a page that begins with this path, exactly as it stands there. */
function exampleOf(page: string, path: string): string {
  const blocks = readFileSync(join(repositoryRoot, page), 'utf8').split('```');
  const block = blocks.find((text) => text.startsWith(`ts\n// models/${path}\n`));
  if (block === undefined) throw new Error(`${page} shows no ${path}`);
  return block.slice('ts\n'.length);
}

function element(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
}

interface Answer {
  readonly error?: string;
  readonly outputs?: readonly { readonly name: string; readonly data: readonly unknown[] }[];
}

async function post(model: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/v2/models/${model}/infer`, { method: 'POST', headers, body });
  return { status: response.status, ...((await response.json()) as Answer) };
}

function inferPhoto(photo: Uint8Array, model = 'digits') {
  const data = element(photo);
  const image = { name: 'image', datatype: 'BYTES', shape: [1], parameters: { binary_data_size: data.length } };
  const json = Buffer.from(JSON.stringify({ inputs: [image] }));
  const headers = { 'inference-header-content-length': String(json.length) };
  return post(model, Buffer.concat([json, data]), headers);
}

function inferNumber(model: string, value: number) {
  return post(model, JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1], data: [value] }] }));
}

const labelOf = ({ outputs }: Answer) => outputs?.find(({ name }) => name === 'label')?.data[0];

describe('digits', () => {
  test.each(digits)('reads the digit of golden %i as %s, as JPEG and as PNG', async (index, label) => {
    for (const format of ['jpeg', 'png'] as const) {
      const answer = await inferPhoto(await photoOf(index, format));
      expect(answer).toMatchObject({ status: 200 });
      expect(labelOf(answer)).toBe(label);
      expect(answer.outputs?.find(({ name }) => name === 'probability')?.data[0]).toBeGreaterThan(0.8);
    }
  });

  test('gives the same answers over gRPC', async () => {
    const photo = element(await photoOf(1, 'jpeg'));
    // ModelInferRequest by hand: model_name = 1, inputs = 5 { name = 1, datatype = 2, shape = 3 }, raw_input_contents = 7.
    const field = (tag: number, bytes: Uint8Array) => Buffer.concat([delimitedHead(tag, bytes.length), bytes]);
    const input = Buffer.concat([
      field(1, Buffer.from('image')),
      field(2, Buffer.from('BYTES')),
      field(3, Uint8Array.of(1)),
    ]);
    const message = Buffer.concat([field(1, Buffer.from('digits')), field(5, input), field(7, photo)]);
    const length = Buffer.alloc(5);
    length.writeUInt32BE(message.length, 1);
    const response = await fetch(`${server.grpcUrl}/inference.GRPCInferenceService/ModelInfer`, {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web+proto' },
      body: Buffer.concat([length, message]),
    });
    const answer = Buffer.from(await response.arrayBuffer());
    expect(answer.includes(element(Buffer.from('three')))).toBe(true);
    expect(answer.toString('latin1')).toMatch(/grpc-status: ?0/);
  });

  test('many at once are answered each with their own, and their steps share batches', async () => {
    const photos = await Promise.all(digits.map(([index]) => photoOf(index, 'jpeg')));
    const answers = await Promise.all(
      Array.from({ length: 48 }, (_, call) => inferPhoto(photos[call % photos.length] as Uint8Array)),
    );
    expect(answers.map(labelOf)).toEqual(answers.map((_, call) => digits[call % digits.length]?.[1]));
  });

  test('a picture that cannot be decoded, or shows nothing, is an invalid request', async () => {
    const cut = (await photoOf(0, 'jpeg')).subarray(0, 700);
    expect(await inferPhoto(cut)).toMatchObject({
      status: 400,
      error: expect.stringMatching(/^input 'image' cannot be decoded: /),
    });
    const blank = await sharp({ create: { width: 50, height: 50, channels: 3, background: '#fff' } })
      .png()
      .toBuffer();
    expect(await inferPhoto(blank)).toMatchObject({ status: 400, error: expect.stringMatching(/shows no ink/) });
    const vast = pngFile({ width: 50_000, height: 50_000, colours: 'rgb', bitDepth: 8, rows: [] });
    expect(await inferPhoto(vast)).toMatchObject({
      status: 400,
      error: "input 'image' cannot be decoded: it has more than 67108864 pixels (imagePixelsMax)",
    });
  });
});

test('the example of the documentation runs as it is written', async () => {
  const blue = await sharp({ create: { width: 30, height: 20, channels: 3, background: '#0000ff' } })
    .jpeg()
    .toBuffer();
  const answer = await inferPhoto(blue, 'photo_size');
  expect(answer).toMatchObject({ status: 200, outputs: [{ name: 'means' }] });
  const [red, green, mostly] = (answer.outputs?.[0]?.data ?? []) as readonly number[];
  expect(Math.max(red as number, green as number)).toBeLessThan(0.05);
  expect(mostly).toBeGreaterThan(0.95);
});

describe('user code', () => {
  test('is answered with its message and position, never with a stack', async () => {
    expect(await inferNumber('faulty', 8)).toMatchObject({ status: 200, outputs: [{ name: 'y', data: [4] }] });
    expect(await inferNumber('faulty', 1)).toMatchObject({ status: 500, error: 'one is too many (pipeline.ts:8)' });
    expect(await inferNumber('faulty', 2)).toMatchObject({ status: 400, error: 'two is a crowd' });
    expect(await inferNumber('faulty', 3)).toMatchObject({
      status: 500,
      error: "output 'y' is FP64, but FP32 is declared",
    });
  });

  test('that calls itself is refused by name', async () => {
    expect(await inferNumber('looping', 1)).toMatchObject({
      status: 500,
      error: 'a model must not call itself, directly or through others: looping calls looping',
    });
  });

  test('that hangs is ended by its run limit, and its worker replaced', async () => {
    expect(await inferNumber('stuck', 1)).toMatchObject({ status: 504 });
    expect(await inferNumber('stuck', -1)).toMatchObject({ status: 200 });
  });
});
