/**
 * `node decode.js MODEL.onnx [--tokens 120] [--rounds 5] [--all]`: how fast a generator is on this core, and what its decode loop adds to the
 * runs of the model; with `--all` also what handing the whole cache back costs, and how long a newcomer holds others up. Prints one JSON line.
 */
import { parseArgs } from 'node:util';
import { measureDecoding, measureGaps } from '@millrace/worker/testing';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tokens: { type: 'string', default: '120' },
    rounds: { type: 'string', default: '5' },
    all: { type: 'boolean', default: false },
  },
});
const [file] = positionals;
if (file === undefined) throw new Error('the graph of a decoder is missing: decode.js MODEL.onnx');
const rates = await measureDecoding({
  file,
  outputTokens: Number(values.tokens),
  rounds: Number(values.rounds),
  hasHandedBack: values.all,
});
const gaps = values.all ? await measureGaps(file) : {};
process.stdout.write(`${JSON.stringify({ ...rates, ...gaps })}\n`);
