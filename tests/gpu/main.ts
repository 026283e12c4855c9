/** Usage: node tests/dist/gpu/main.js MODEL.onnx, see run.sh. The model is one of ResNet-50's shape. */
import { resolve } from 'node:path';
import { Checks } from './checks.ts';
import { checkGoldenAnswers } from './golden-answers.ts';
import { gpuNames } from './gpu-processes.ts';
import { checkKilledWorkers } from './killed-workers.ts';
import { checkMemory } from './memory.ts';
import { checkPlacement } from './placement.ts';
import { checkRefusals } from './refusals.ts';
import { checkSpoiledProcess } from './spoiled-process.ts';
import { printThroughput } from './throughput.ts';

const file = process.argv[2];
if (file === undefined) throw new Error('usage: main.js MODEL.onnx');
const path = resolve(file);
console.log(gpuNames().join('\n'));
const checks = new Checks();
// First, while nothing else of this process is on the GPU.
await checkMemory(checks, path);
await checkRefusals(checks, path);
await checkKilledWorkers(checks, path);
await checkSpoiledProcess(checks);
await checkPlacement(checks, path);
await checkGoldenAnswers(checks);
await printThroughput(path);
console.log(String(checks));
process.exitCode = checks.failed === 0 ? 0 : 1;
