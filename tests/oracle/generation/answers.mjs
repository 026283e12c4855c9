// Answers questions about packages/generation, one JSON line each: what the tests compare with.
import { createInterface } from 'node:readline';
import {
  OutputText,
  openChatTemplate,
  parseGenerationParameters,
  readGenerationConfig,
  Sampler,
  SamplerScratch,
  TextTokenizer,
  TokenHistory,
  TokenTextDecoder,
} from '../../../packages/generation/dist/index.js';
import { PositionalRandom } from '../../../packages/generation/dist/philox.js';

const tokenizers = new Map();
let scratch = new SamplerScratch(1);

const answers = {
  open({ name, json }) {
    tokenizers.set(name, new TextTokenizer(json));
    return tokenizers.get(name).vocabularySize;
  },
  encode: ({ name, texts, framed }) => texts.map((text) => tokenizers.get(name).encode(text, framed)),
  increments: ({ name, cases }) =>
    cases.map(({ prompt = [], ids }) => {
      const decoder = new TokenTextDecoder(tokenizers.get(name), prompt);
      return [...ids.map((id) => decoder.push(id)), decoder.end()];
    }),
  outputs: ({ name, cases }) => cases.map(({ ids, stops }) => outputOf(tokenizers.get(name), ids, stops)),
  sample({ parameters, seed, logits, prompt, output, draws }) {
    if (scratch.vocabularySize !== logits.length) scratch = new SamplerScratch(logits.length);
    const limits = { vocabularySize: logits.length, outputTokensMax: 10_000 };
    const sampler = new Sampler(
      parseGenerationParameters(parameters, readGenerationConfig({}), limits),
      BigInt(seed),
      scratch,
    );
    const history = new TokenHistory(prompt);
    for (const id of output) history.addOutput(id);
    const given = Float32Array.from(logits);
    const chosen = Array.from({ length: draws }, (_, tokenIndex) => sampler.sample(given, history, tokenIndex));
    const kept = parameters.temperature === 0 ? 0 : sampler.filter(given, history, 0);
    return { chosen, ids: [...scratch.candidates.slice(0, kept)], weights: [...scratch.weights.slice(0, kept)] };
  },
  random: ({ seed, positions }) => positions.map((position) => new PositionalRandom(BigInt(seed)).at(position)),
  render({ template, config, messages, tools, addGenerationPrompt, time }) {
    const request = { messages, tools, addGenerationPrompt, now: new Date(time) };
    return openChatTemplate({ ...config, chat_template: template }, undefined).render(request);
  },
};

function outputOf(tokenizer, ids, stops) {
  const output = new OutputText(tokenizer, [], stops, 0);
  let text = '';
  for (const id of ids) {
    const part = output.push(id);
    text += part.text;
    if (part.stoppedBy !== undefined) return [text, part.stoppedBy];
  }
  const end = output.end();
  return [text + end.text, end.stoppedBy ?? null];
}

for await (const line of createInterface({ input: process.stdin })) {
  const { question, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = { answer: answers[question](given) };
  } catch (error) {
    answer = { error: `${error.name}: ${error.message}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
