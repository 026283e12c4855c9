import { createHash } from 'node:crypto';
import { type DecodeConfig, resolveDecodeConfig } from '@millrace/generation';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { InferenceSession, Tensor } from '../onnxruntime/onnxruntime.ts';
import { storytellerEndId, storytellerFile } from '../testing/storyteller-folder.ts';
import { DecodeLoop } from './decode-loop.ts';
import { tokenBytesOf } from './decoder-tensors.ts';
import { type ReadDecoder, readDecoder } from './read-decoder.ts';

const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
const outputTokens = 24;
const prompts = Array.from({ length: 6 }, (_, index) => [
  storytellerEndId,
  ...Array.from({ length: 5 + ((index * 27) % 70) }, (_value, at) => ((index * 37 + at * 101) % 2000) + 20),
]);

let decoder: ReadDecoder;
let session: InferenceSession;

beforeAll(async () => {
  decoder = await readDecoder(storytellerFile);
  session = await InferenceSession.create(decoder.model as Uint8Array, options);
});

afterAll(() => session.release());

function loopWith(config: Partial<DecodeConfig> = {}, isolatesFailures?: boolean): DecodeLoop {
  const { tensors } = decoder;
  return new DecodeLoop({
    session,
    tensors,
    ...(isolatesFailures === undefined ? {} : { isolatesFailures }),
    config: resolveDecodeConfig({ tokenBytes: tokenBytesOf(tensors), ...config }),
  });
}

interface Generated {
  readonly tokens: readonly number[];
  /** Digest of the logits of all steps, one after the other. */
  readonly bits: string;
}

function generated(loop: DecodeLoop, prompt: readonly number[]): Promise<Generated> {
  return new Promise((resolve, reject) => {
    const tokens: number[] = [];
    const logits = createHash('sha256');
    loop.begin(prompt, {
      onLogits: (row) => {
        logits.update(new Float32Array(row));
        const token = indexOfGreatest(row);
        tokens.push(token);
        if (token !== storytellerEndId && tokens.length < outputTokens) return token;
        resolve({ tokens, bits: logits.digest('hex') });
        return undefined;
      },
      onFailed: reject,
    });
  });
}

function indexOfGreatest(row: Float32Array): number {
  let greatest = 0;
  for (let index = 1; index < row.length; index++) {
    if ((row[index] as number) > (row[greatest] as number)) greatest = index;
  }
  return greatest;
}

/** The unmodified model, run by itself with its whole cache handed back every time. */
async function plainTokens(prompt: readonly number[]): Promise<readonly number[]> {
  const plain = await InferenceSession.create(storytellerFile, options);
  const names = [0, 1, 2, 3, 4, 5].flatMap((layer) => [`${layer}.key`, `${layer}.value`]);
  let past = new Map<string, Tensor>(
    names.map((name) => [name, new Tensor('float32', new Float32Array(0), [1, 6, 0, 32])]),
  );
  const tokens: number[] = [];
  let fresh = prompt;
  let length = 0;
  while (tokens.length < outputTokens && tokens.at(-1) !== storytellerEndId) {
    const all = length + fresh.length;
    const integers = (values: readonly number[]) =>
      new Tensor('int64', BigInt64Array.from(values, BigInt), [1, values.length]);
    const before = length;
    const outputs = await plain.run({
      input_ids: integers(fresh),
      attention_mask: integers(new Array<number>(all).fill(1)),
      position_ids: integers(fresh.map((_, at) => before + at)),
      ...Object.fromEntries([...past].map(([name, tensor]) => [`past_key_values.${name}`, tensor])),
    });
    const logits = outputs.logits?.data as Float32Array;
    const token = indexOfGreatest(logits.subarray(logits.length - 2048));
    tokens.push(token);
    past = new Map(names.map((name) => [name, outputs[`present.${name}`] as Tensor]));
    length = all;
    fresh = [token];
  }
  await plain.release();
  return tokens;
}

test('the most probable tokens are those of the unmodified model', async () => {
  for (const prompt of prompts.slice(0, 2)) {
    expect((await generated(loopWith(), prompt)).tokens).toEqual(await plainTokens(prompt));
  }
});

test('the bits of a text are the same alone, in company, and after its cache was dropped', async () => {
  const alone: Generated[] = [];
  for (const prompt of prompts) alone.push(await generated(loopWith(), prompt));
  const shared = loopWith();
  expect(await Promise.all(prompts.map((prompt) => generated(shared, prompt)))).toEqual(alone);
  const tight = loopWith({ cacheBytesMax: tokenBytesOf(decoder.tensors) * 64 * 4 });
  expect(await Promise.all(prompts.map((prompt) => generated(tight, prompt)))).toEqual(alone);
  expect(tight.counts.preemptions).toBeGreaterThan(0);
  expect(shared.counts).toMatchObject({ running: 0, waiting: 0, cacheBytes: 0 });
});

test('a sequence that is ended or not wanted takes no more steps, and the others go on', async () => {
  const loop = loopWith();
  let steps = 0;
  const other = generated(loop, prompts[1] as readonly number[]);
  const sequence = loop.begin(prompts[0] as readonly number[], {
    onLogits: (row) => {
      steps += 1;
      if (steps === 2) sequence.setWanted(false);
      return indexOfGreatest(row);
    },
    onFailed: (error) => expect.unreachable(error.message),
  });
  await other;
  expect(steps).toBe(2);
  expect(loop.counts.running).toBe(1);
  sequence.end();
  sequence.end();
  expect(loop.counts).toMatchObject({ running: 0, waiting: 0, cacheBytes: 0 });
});

test('a run that fails ends its sequences with the reason', async () => {
  const loop = loopWith();
  const outOfVocabulary = [storytellerEndId, 1_000_000];
  await expect(generated(loop, outOfVocabulary)).rejects.toMatchObject({ code: 'inference-failed' });
  expect(loop.counts).toMatchObject({ running: 0, waiting: 0 });
  expect((await generated(loop, prompts[0] as readonly number[])).tokens.length).toBeGreaterThan(0);
});

test.each([
  ['a token that the graph does not take', () => 1_000_000],
  [
    'logits that no token can be chosen from',
    () => {
      throw new RangeError('no logit is a number');
    },
  ],
])('a text that fails by %s does not end those beside it', async (_, failingChoice) => {
  const alone: Generated[] = [];
  for (const prompt of prompts) alone.push(await generated(loopWith(), prompt));
  const loop = loopWith();
  const failing = new Promise((_resolve, reject) => {
    let steps = 0;
    loop.begin(prompts[0] as readonly number[], {
      // By then all have read their prompts and share runs.
      onLogits: (row) => (++steps < 10 ? indexOfGreatest(row) : failingChoice()),
      onFailed: reject,
    });
  });
  const others = Promise.all(prompts.map((prompt) => generated(loop, prompt)));
  await expect(failing).rejects.toMatchObject({ code: 'inference-failed' });
  expect(await others).toEqual(alone);
  expect(loop.counts).toMatchObject({ running: 0, waiting: 0, cacheBytes: 0 });
});

test('a probe sees that a run of several texts fails', async () => {
  const loop = loopWith({}, false);
  const prompt = prompts[0] as readonly number[];
  const other = generated(loop, prompt);
  loop.begin(prompt, { onLogits: () => 1_000_000, onFailed() {} });
  await expect(other).rejects.toMatchObject({ code: 'inference-failed' });
});
