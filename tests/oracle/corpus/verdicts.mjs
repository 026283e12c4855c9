// verdicts.mjs LIST: reads a file with the path of a model on each line, writes a line of JSON with its verdict for each. Build first: npx tsc -b
import { readFileSync } from 'node:fs';
import { analyseRowsOfFile } from '../../../packages/onnx/dist/index.js';

for (const path of readFileSync(process.argv[2], 'utf8').split('\n')) {
  if (path === '') continue;
  const started = performance.now();
  const verdict = await analyseRowsOfFile(path);
  process.stdout.write(`${JSON.stringify({ path, ms: performance.now() - started, ...verdict })}\n`);
}
