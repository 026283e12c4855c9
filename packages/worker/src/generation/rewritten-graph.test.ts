/** The graph that runs is not the one that was exported; here both are given the same tokens. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InferenceSession, Tensor } from '../onnxruntime/onnxruntime.ts';
import { storytellerFile } from '../testing/storyteller-folder.ts';
import { type ReadDecoder, readDecoder } from './read-decoder.ts';
import { decodeOnCutGraph, decodeOnUncutGraph, openMeasured } from './testing/bare-decode.ts';
import { writeLlamaFolder } from './testing/llama-folder.ts';

/** Queries share keys and values, which the exported graph repeats for them. */
async function writtenLlama(): Promise<string> {
  folder = await mkdtemp(join(tmpdir(), 'millrace-rewritten-'));
  const shape = { layers: 2, width: 48, heads: 6, cacheHeads: 2, innerWidth: 64, vocabulary: 2048 };
  return (await writeLlamaFolder(folder, shape)).file;
}
let folder: string | undefined;

describe.each([
  ['the storyteller', async () => storytellerFile],
  ['a decoder whose queries share keys', writtenLlama],
])('%s', (_, fileOf) => {
  let decoder: ReadDecoder;
  let rewritten: InferenceSession;
  let exported: InferenceSession;

  beforeAll(async () => {
    const file = await fileOf();
    decoder = await readDecoder(file);
    rewritten = await openMeasured(file, decoder.model);
    exported = await openMeasured(file, file);
  });

  afterAll(async () => {
    await rewritten?.release();
    await exported?.release();
    if (folder !== undefined) await rm(folder, { recursive: true });
    folder = undefined;
  });

  test('no run joins caches and new tokens, or repeats them', () => {
    const model = Buffer.from(decoder.model as Uint8Array);
    for (const { output } of decoder.tensors.caches) expect(model.includes(output)).toBe(true);
    expect(model.includes('present.')).toBe(false);
    expect(model.includes('Expand')).toBe(false);
  });

  test.each([
    ['a prompt without a cache', 1, 0, 5],
    ['one token of several texts', 3, 64, 1],
    ['a piece of a prompt on a cache', 1, 128, 64],
  ])('%s: the logits differ by rounding only', async (_, rows, past, width) => {
    const integers = (columns: number, valueAt: (column: number) => number): Tensor =>
      new Tensor(
        'int64',
        BigInt64Array.from({ length: rows * columns }, (_value, at) => BigInt(valueAt(at % columns))),
        [rows, columns],
      );
    const feeds: Record<string, Tensor> = {
      input_ids: integers(width, (column) => 20 + 7 * column),
      attention_mask: integers(past + width, (column) => (column < past / 2 || column >= past ? 1 : 0)),
      position_ids: integers(width, (column) => past / 2 + column),
    };
    for (const [index, { input, heads, headSize }] of decoder.tensors.caches.entries()) {
      const values = Float32Array.from({ length: rows * heads * past * headSize }, (_value, at) =>
        Math.sin(at + index),
      );
      feeds[input] = new Tensor('float32', values, [rows, heads, past, headSize]);
    }
    const [expected, found] = await Promise.all([exported.run(feeds, ['logits']), rewritten.run(feeds, ['logits'])]);
    const [left, right] = [expected, found].map(({ logits }) => (logits as Tensor).data as Float32Array);
    const differences = left?.map((logit, index) => Math.abs(logit - (right?.[index] ?? Number.NaN)));
    expect(differences?.every((difference) => difference <= 1e-4)).toBe(true);
  });

  test('both give the same texts', async () => {
    const prompts = [
      [0, 1324, 1325, 259, 400],
      [0, 1324, 1325, 259, 411],
      [0, 30, 31, 32, 33],
    ];
    expect(await decodeOnCutGraph(rewritten, decoder, prompts, 130)).toEqual(
      await decodeOnUncutGraph(exported, decoder, prompts, 130),
    );
  });
});
