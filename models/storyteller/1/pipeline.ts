// The first words of a story, or a request for one, in; the whole story out. Every token is the most probable one, so the same
// opening gives the same story.
import { readFileSync } from 'node:fs';
import {
  decodeTexts,
  definePipeline,
  type GivenTensor,
  invalid,
  type PipelineContext,
  type PipelineTensor,
} from 'millrace/pipeline';
import { bytePairTokenizer } from './byte-pairs.ts';

const tokenizerFile = new URL('../../storyteller_tensors/tokenizer.json', import.meta.url);
const tokenizer = bytePairTokenizer(readFileSync(tokenizerFile, 'utf8'));

/** Stands before a story and ends it. */
const endId = 0;
/** The model was trained on texts of this length. */
const textTokensMax = 450;
const openingTokensMax = 120;
/** To find the tokens of a long text takes long, and this many characters are more than the tokens allowed. */
const openingCharactersMax = 2000;
const layers = 6;
const cacheNames = Array.from({ length: layers }, (_, layer) => [`${layer}.key`, `${layer}.value`]).flat();
/** The requests that the model was taught. An empty line follows them, and they are not part of the story. */
const requestPattern = /^(?:(?:please |can you )?(?:tell me|write) a story about |a story about |story: )[^\n]+$/i;

export default definePipeline({
  inputs: { text: { datatype: 'BYTES', shape: [1] } },
  outputs: { story: { datatype: 'BYTES', shape: [1] } },

  async run({ inputs }, context) {
    const opening = (decodeTexts('text', inputs.text)[0] ?? '').trim();
    if (opening === '') {
      throw invalid(`text is empty; send the first words of a story, or "Tell me a story about a fox and a kite."`);
    }
    if (opening.length > openingCharactersMax) {
      throw invalid(`text has ${opening.length} characters, more than ${openingCharactersMax}; send a shorter opening`);
    }
    const isRequest = requestPattern.test(opening);
    const prompt = isRequest ? `${opening.replace(/[^.?]$/, '$&.')}\n\n` : opening;
    const ids = [endId, ...tokenizer.encode(prompt)];
    if (ids.length > openingTokensMax) {
      const advice = 'send a shorter opening (most words are one or two tokens)';
      throw invalid(`text has ${ids.length} tokens, more than ${openingTokensMax}; ${advice}`);
    }
    const continuation = await continued(ids, textTokensMax - ids.length, context);
    const told = isRequest ? continuation : [...ids.slice(1), ...continuation];
    return { story: { data: [tokenizer.decode(told).trim()] } };
  },
});

/** The tokens that follow, until the story ends. The cache of a step is an input of the next, which brings one token. */
async function continued(
  ids: readonly number[],
  tokensMax: number,
  context: PipelineContext,
): Promise<readonly number[]> {
  const none = { data: new Float32Array(), shape: [1, 6, 0, 32] };
  let cache = Object.fromEntries<GivenTensor>(cacheNames.map((name) => [`past_key_values.${name}`, none]));
  let fresh = ids;
  let past = 0;
  const tokens: number[] = [];
  while (tokens.length < tokensMax) {
    const length = past + fresh.length;
    const answer = await context.infer('storyteller_tensors', {
      input_ids: { data: BigInt64Array.from(fresh, BigInt), shape: [1, fresh.length] },
      attention_mask: { data: new BigInt64Array(length).fill(1n), shape: [1, length] },
      position_ids: { data: BigInt64Array.from(fresh, (_, index) => BigInt(past + index)), shape: [1, fresh.length] },
      ...cache,
    });
    const token = mostProbable(answer.logits as PipelineTensor<'FP32'>);
    if (token === endId) break;
    tokens.push(token);
    cache = Object.fromEntries(
      cacheNames.map((name) => [`past_key_values.${name}`, answer[`present.${name}`] as PipelineTensor]),
    );
    past = length;
    fresh = [token];
  }
  return tokens;
}

/** By the logits of the last position. */
function mostProbable({ data, shape }: PipelineTensor<'FP32'>): number {
  const last = data.subarray(-(shape[2] as number));
  let best = 0;
  for (let id = 1; id < last.length; id++) if ((last[id] as number) > (last[best] as number)) best = id;
  return best;
}
