import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeBytesElements, takeBytesElements } from '@millrace/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fakeLoadSpec } from '../../testing/fake-load-spec.ts';
import { warmUpMemory } from '../../warm-up/warm-up-memory.ts';
import { generatorEngine } from '../generator-engine.ts';
import { type LlamaFolder, writeLlamaFolder } from './llama-folder.ts';
import { type LlamaShape, llamaWeights, smallLlamaShape } from './llama-graph.ts';

const reduced: LlamaShape = { layers: 2, width: 36, heads: 9, cacheHeads: 3, innerWidth: 40, vocabulary: 2100 };
let folder: string;
let written: LlamaFolder;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-llama-'));
  written = await writeLlamaFolder(folder, reduced);
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const parametersOf = (shape: LlamaShape): number =>
  llamaWeights(shape).reduce((sum, tensor) => sum + tensor.shape.reduce((product, size) => product * size, 1), 0);

test('the decoder that is measured has 135 million parameters', () => {
  expect(parametersOf(smallLlamaShape)).toBe(134_515_008);
});

test('all weights are in a file of their own, and the same seed gives the same', async () => {
  expect(written.parameters).toBe(parametersOf(reduced));
  const weights = join(folder, 'model.onnx_data');
  expect((await stat(weights)).size).toBeGreaterThanOrEqual(4 * written.parameters);
  const again = join(folder, 'again');
  await writeLlamaFolder(again, reduced);
  expect(Buffer.compare(await readFile(weights), await readFile(join(again, 'model.onnx_data')))).toBe(0);
  await writeLlamaFolder(again, reduced, 2);
  expect(Buffer.compare(await readFile(weights), await readFile(join(again, 'model.onnx_data')))).not.toBe(0);
});

test('it is served as a generator, with padding and company that change nothing', async () => {
  const session = await generatorEngine.load({
    ...fakeLoadSpec,
    name: 'llama',
    engine: 'generator',
    path: written.file,
    inputs: ['text_input', 'sampling_parameters'].map((name) => ({ name, datatype: 'BYTES', shape: [1] })),
    outputs: [{ name: 'text_output', datatype: 'BYTES', shape: [1] }],
    isBatched: false,
    concurrency: 4,
    isDecoupled: true,
  });
  try {
    expect(session.probe).toMatchObject({ layout: 'padded', rowsMax: 32, isExact: true, findings: [] });
    const inputs = ['Once upon a time', '{"max_tokens": 12, "ignore_eos": true}'].map((text, index) => ({
      index,
      shape: [1],
      data: encodeBytesElements([text]),
    }));
    const run = session.begin?.({ inputs, outputs: [0] });
    let text = '';
    let steps = 0;
    for (let found = await run?.step(warmUpMemory()); found !== undefined; found = await run?.step(warmUpMemory())) {
      text += new TextDecoder().decode(takeBytesElements(found.outputs[0]?.data as Uint8Array)?.[0]);
      steps += 1;
    }
    expect(steps).toBe(12);
    expect(text.length).toBeGreaterThan(0);
  } finally {
    await session.unload();
  }
});
