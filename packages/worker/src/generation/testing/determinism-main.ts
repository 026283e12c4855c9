/**
 * `node packages/worker/dist/generation/testing/determinism-main.js [MODEL.onnx] [--stories 100] [--tokens 200] [--rows 32] [--seed 1]`: whether
 * the bits of texts change with their company, with rebuilds or with lost caches. The bundled storyteller unless a model is given. Minutes.
 */
import { parseArgs } from 'node:util';
import { storytellerFile } from '../../testing/storyteller-folder.ts';
import { readDecoder } from '../read-decoder.ts';
import { openMeasured } from './bare-decode.ts';
import { checkDeterminism } from './determinism.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    stories: { type: 'string', default: '100' },
    tokens: { type: 'string', default: '200' },
    rows: { type: 'string', default: '32' },
    seed: { type: 'string', default: '1' },
  },
});
const file = positionals[0] ?? storytellerFile;
const decoder = await readDecoder(file);
const session = await openMeasured(file, decoder.model);
const began = performance.now();
const { steps, preemptions, differences } = await checkDeterminism({
  decoder,
  session,
  stories: Number(values.stories),
  tokensMax: Number(values.tokens),
  rowsMax: Number(values.rows),
  seed: Number(values.seed),
  onPhase: (phase) => console.log(`${((performance.now() - began) / 1000).toFixed(0)} s: ${phase}`),
});
await session.release();
for (const difference of differences.slice(0, 20)) console.log(difference);
console.log(`${steps} steps compared, ${preemptions} caches given up, ${differences.length} differences`);
process.exit(differences.length === 0 ? 0 : 1);
