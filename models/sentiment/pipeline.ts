// Reviews in, the opinion of each out. Versions 1 and 2 ask the version of sentiment_tensors with the same number.
import { readFileSync } from 'node:fs';
import { decodeTexts, definePipeline, invalid } from 'millrace/pipeline';
import { wordPieceTokenizer } from './word-piece.ts';

const model = new URL('../sentiment_tensors/', import.meta.url);
const labels = readFileSync(new URL('labels.txt', model), 'utf8').trim().split('\n');
const idsFrom = wordPieceTokenizer(readFileSync(new URL('tokenizer.json', model), 'utf8'));

/** What the model was trained with; the rest of a longer review is not read. */
const idsMax = 96;
const textsMax = 64;

export default definePipeline({
  inputs: { text: { datatype: 'BYTES', shape: [-1] } },
  outputs: {
    label: { datatype: 'BYTES', shape: [-1] },
    probability: { datatype: 'FP32', shape: [-1] },
  },

  async run({ inputs }, context) {
    const texts = decodeTexts('text', inputs.text);
    if (texts.length === 0) throw invalid("input 'text' has no element; send at least one review");
    const empty = texts.findIndex((text) => text.trim() === '');
    if (empty >= 0) throw invalid(`text[${empty}] is empty; send a review, such as "The soup was wonderful."`);
    if (texts.length > textsMax) {
      throw invalid(`input 'text' has ${texts.length} reviews, more than ${textsMax}; send several requests`);
    }
    const rows = texts.map((text) => idsFrom(text).slice(0, idsMax));
    const length = Math.max(...rows.map((ids) => ids.length));
    // Padded on the right with 0.
    const padded = new BigInt64Array(rows.length * length);
    for (const [row, ids] of rows.entries()) padded.set(ids.map(BigInt), row * length);
    const { probabilities } = await context.infer(
      'sentiment_tensors',
      { input_ids: { data: padded, shape: [rows.length, length] } },
      { version: context.version },
    );
    const scores = probabilities?.data as Float32Array;
    const best = rows.map((_, row) => {
      const own = scores.subarray(row * labels.length, (row + 1) * labels.length);
      const probability = Math.max(...own);
      return { probability, label: labels[own.indexOf(probability)] ?? '' };
    });
    return {
      label: { data: best.map(({ label }) => label) },
      probability: { data: Float32Array.from(best, ({ probability }) => probability) },
    };
  },
});
