// Loads decoders as a worker does and generates with them, one JSON line each: what the tests compare with.
import { createInterface } from 'node:readline';
import { encodeBytesElements } from '../../../packages/protocol/dist/index.js';
import { DecodeLoop } from '../../../packages/worker/dist/generation/decode-loop.js';
import { generatorEngine } from '../../../packages/worker/dist/generation/generator-engine.js';
import { readDecoder } from '../../../packages/worker/dist/generation/read-decoder.js';
import { fakeLoadSpec } from '../../../packages/worker/dist/testing/fake-load-spec.js';
import { warmUpMemory } from '../../../packages/worker/dist/warm-up/warm-up-memory.js';

/** The logits that tokens are chosen by, text by text in the order in which they began. */
let recorded;
const { begin } = DecodeLoop.prototype;
DecodeLoop.prototype.begin = function (prompt, listener) {
  if (recorded === undefined) return begin.call(this, prompt, listener);
  const steps = [];
  recorded.push(steps);
  return begin.call(this, prompt, {
    onLogits: (logits) => {
      steps.push([...logits].map((logit) => Number(logit.toPrecision(8))));
      return listener.onLogits(logits);
    },
    onFailed: (error) => listener.onFailed(error),
  });
};

async function loaded(path) {
  return await generatorEngine.load({
    ...fakeLoadSpec,
    name: 'decoder',
    engine: 'generator',
    path,
    inputs: [
      { name: 'text_input', datatype: 'BYTES', shape: [1] },
      { name: 'sampling_parameters', datatype: 'BYTES', shape: [1], isOptional: true },
    ],
    outputs: [{ name: 'token', datatype: 'INT64', shape: [-1] }],
    isBatched: false,
    concurrency: 8,
    isDecoupled: true,
  });
}

async function tokensOf(session, prompt, count) {
  const parameters = JSON.stringify({ temperature: 0, max_tokens: count, ignore_eos: true });
  const inputs = [prompt, parameters].map((text, index) => ({ index, shape: [1], data: encodeBytesElements([text]) }));
  const run = session.begin({ inputs, outputs: [0] });
  const tokens = [];
  for (;;) {
    const answer = await run.step(warmUpMemory());
    if (answer === undefined) return tokens;
    tokens.push(Number(Buffer.from(answer.outputs[0].data).readBigInt64LE()));
  }
}

async function answered({ path, prompts, count }) {
  let session;
  try {
    session = await loaded(path);
  } catch (error) {
    return { refused: error.message };
  }
  const { layout, rowsMax, findings } = session.probe;
  const { model } = await readDecoder(path);
  const isRewritten = typeof model !== 'string' && Buffer.from(model).includes(' of new tokens');
  const answer = { layout, rowsMax, findings, isRewritten };
  try {
    recorded = [];
    answer.alone = [];
    for (const prompt of prompts) answer.alone.push(await tokensOf(session, prompt, count));
    answer.aloneLogits = recorded;
    recorded = [];
    answer.together = await Promise.all(prompts.map((prompt) => tokensOf(session, prompt, count)));
    answer.togetherLogits = recorded;
  } catch (error) {
    answer.failed = error.message;
  } finally {
    recorded = undefined;
    await session.unload();
  }
  return answer;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answered(JSON.parse(line)))}\n`);
}
