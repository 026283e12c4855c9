/** The graph that runs is not the one that was exported; here both are given the same tokens. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { InferenceSession, Tensor } from '../onnxruntime/onnxruntime.ts';
import { storytellerFile } from '../testing/storyteller-folder.ts';
import { type ReadDecoder, readDecoder } from './read-decoder.ts';
import {
  decodeOnCutGraph,
  decodeOnUncutGraph,
  measuredSessionOptions,
  openUncutStoryteller,
} from './testing/bare-decode.ts';

let decoder: ReadDecoder;
let rewritten: InferenceSession;
let exported: InferenceSession;

beforeAll(async () => {
  decoder = await readDecoder(storytellerFile);
  rewritten = await InferenceSession.create(decoder.model as Uint8Array, measuredSessionOptions);
  exported = await openUncutStoryteller();
});

afterAll(async () => {
  await rewritten?.release();
  await exported?.release();
});

test('no run of the storyteller joins caches and new tokens', () => {
  const model = Buffer.from(decoder.model as Uint8Array);
  for (const { output } of decoder.tensors.caches) expect(model.includes(output)).toBe(true);
  expect(model.includes('present.')).toBe(false);
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
    const values = Float32Array.from({ length: rows * heads * past * headSize }, (_value, at) => Math.sin(at + index));
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
