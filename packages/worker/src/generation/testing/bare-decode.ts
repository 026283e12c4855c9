/** What the decode loop is measured against: a plain loop around `session.run`, for texts that begin and end together. */
import { externalFolderOption } from '../../onnxruntime/model-source.ts';
import { InferenceSession, Tensor } from '../../onnxruntime/onnxruntime.ts';
import type { ReadDecoder } from '../read-decoder.ts';

/**
 * A session on one thread.
 *
 * @param model the file as it was exported, which gives the whole cache out, or what was made of it
 */
export function openMeasured(file: string, model: string | Uint8Array): Promise<InferenceSession> {
  const options: InferenceSession.SessionOptions = {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    // Errors; it warns of every constant that a rewritten graph does not read.
    logSeverityLevel: 3,
    extra: { session: { intra_op: { allow_spinning: '0' }, ...externalFolderOption(file) } },
  };
  return typeof model === 'string' ? InferenceSession.create(model, options) : InferenceSession.create(model, options);
}

/** The most probable token; the first one, which ends a text, is left out, so that all texts have the same length. */
export function mostProbable(logits: Float32Array): number {
  let best = 1;
  for (let id = 2; id < logits.length; id++) if ((logits[id] as number) > (logits[best] as number)) best = id;
  return best;
}

/** The graph that the decode loop runs, with caches of the same lengths. New keys and values are written behind those that are there. */
export async function decodeOnCutGraph(
  session: InferenceSession,
  { tensors }: ReadDecoder,
  prompts: readonly (readonly number[])[],
  outputTokens: number,
): Promise<readonly (readonly number[])[]> {
  const rows = prompts.length;
  const fetches = [tensors.logits.name, ...tensors.caches.map(({ output }) => output)];
  const { heads, headSize } = tensors.caches[0] as ReadDecoder['tensors']['caches'][number];
  let length = 0;
  let caches = tensors.caches.map(() => new Float32Array(0));
  const lengthen = (to: number): void => {
    caches = caches.map((cache) => {
      const longer = new Float32Array(rows * heads * to * headSize);
      for (let head = 0; head < rows * heads; head++) {
        longer.set(cache.subarray(head * length * headSize, (head + 1) * length * headSize), head * to * headSize);
      }
      return longer;
    });
    length = to;
  };
  const texts = prompts.map((prompt) => [...prompt]);
  let read = 0;
  for (let step = 0; step < outputTokens; step++) {
    const width = step === 0 ? (prompts[0] as readonly number[]).length : 1;
    const feeds = integerFeeds(texts, read, width, length);
    for (const [index, { input }] of tensors.caches.entries()) {
      feeds[input] = new Tensor('float32', caches[index] as Float32Array, [rows, heads, length, headSize]);
    }
    const outputs = await session.run(feeds, fetches);
    if (read + width > length) lengthen(Math.max(64, 2 * length));
    for (const [index, { output }] of tensors.caches.entries()) {
      const added = (outputs[output] as Tensor).data as Float32Array;
      const cache = caches[index] as Float32Array;
      const count = width * headSize;
      for (let head = 0; head < rows * heads; head++) {
        const to = (head * length + read) * headSize;
        for (let at = 0; at < count; at++) cache[to + at] = added[head * count + at] as number;
      }
    }
    read += width;
    addMostProbable(texts, outputs[tensors.logits.name] as Tensor);
  }
  return texts.map((text, row) => text.slice((prompts[row] as readonly number[]).length));
}

/** The graph as it was exported: the caches that a run gives out are what the next one gets. */
export async function decodeOnUncutGraph(
  session: InferenceSession,
  { description, tensors }: ReadDecoder,
  prompts: readonly (readonly number[])[],
  outputTokens: number,
): Promise<readonly (readonly number[])[]> {
  const pairs = (description.cache?.layers ?? []).flatMap(({ pastKey, pastValue, presentKey, presentValue }) => [
    [pastKey, presentKey] as const,
    [pastValue, presentValue] as const,
  ]);
  const { heads, headSize } = tensors.caches[0] as ReadDecoder['tensors']['caches'][number];
  const texts = prompts.map((prompt) => [...prompt]);
  let caches: Record<string, Tensor> = Object.fromEntries(
    pairs.map(([past]) => [past, new Tensor('float32', new Float32Array(0), [prompts.length, heads, 0, headSize])]),
  );
  let read = 0;
  for (let step = 0; step < outputTokens; step++) {
    const width = step === 0 ? (prompts[0] as readonly number[]).length : 1;
    const outputs = await session.run({ ...integerFeeds(texts, read, width, read), ...caches });
    caches = Object.fromEntries(pairs.map(([past, present]) => [past, outputs[present] as Tensor]));
    read += width;
    addMostProbable(texts, outputs[tensors.logits.name] as Tensor);
  }
  return texts.map((text, row) => text.slice((prompts[row] as readonly number[]).length));
}

/** @param length of the cache, of which `read` tokens are in use */
function integerFeeds(
  texts: readonly (readonly number[])[],
  read: number,
  width: number,
  length: number,
): Record<string, Tensor> {
  const rows = texts.length;
  const ids = new BigInt64Array(rows * width);
  const positions = new BigInt64Array(rows * width);
  const mask = new BigInt64Array(rows * (length + width));
  for (let row = 0; row < rows; row++) {
    const text = texts[row] as readonly number[];
    for (let column = 0; column < width; column++) {
      ids[row * width + column] = BigInt(text[read + column] as number);
      positions[row * width + column] = BigInt(read + column);
    }
    const first = row * (length + width);
    mask.fill(1n, first, first + read);
    mask.fill(1n, first + length, first + length + width);
  }
  return {
    input_ids: new Tensor('int64', ids, [rows, width]),
    attention_mask: new Tensor('int64', mask, [rows, length + width]),
    position_ids: new Tensor('int64', positions, [rows, width]),
  };
}

function addMostProbable(texts: readonly number[][], { data, dims }: Tensor): void {
  const [, width, vocabulary] = dims as [number, number, number];
  for (const [row, text] of texts.entries()) {
    const begin = ((row + 1) * width - 1) * vocabulary;
    text.push(mostProbable((data as Float32Array).subarray(begin, begin + vocabulary)));
  }
}
