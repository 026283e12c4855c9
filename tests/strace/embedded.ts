/** Programs for strace: the engine embedded in the main thread or another one, and what the rules must find. */

import { lookup } from 'node:dns/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker } from 'node:worker_threads';
import { repositoryRoot } from '../support/repository-root.ts';

const model = join(repositoryRoot, 'tests/models/mlp/1/model.onnx');

async function embed(): Promise<void> {
  // Only here: the engine turns the telemetry off as soon as it is imported.
  const { createEngine } = await import('millrace');
  const engine = await createEngine({ models: model, worker: { lane: 'inline' } });
  await engine.infer('model', { input: { shape: [1, 64], data: new Float32Array(64) } });
  await engine.close();
}

async function runPlain(): Promise<void> {
  const require = createRequire(createRequire(import.meta.url).resolve('@millrace/worker/main'));
  const { InferenceSession } = require('onnxruntime-node') as typeof import('onnxruntime-node');
  const session = await InferenceSession.create(model, { logSeverityLevel: 4 });
  await session.release();
}

const [, , mode] = process.argv;
if (mode === 'telemetry') {
  await runPlain();
} else if (mode === 'lookup') {
  await lookup('millrace.invalid').catch(() => {});
} else if (mode === 'thread' && isMainThread) {
  const worker = new Worker(fileURLToPath(import.meta.url), { argv: ['thread'] });
  process.exitCode = await new Promise<number>((resolve, reject) => {
    worker.once('error', reject).once('exit', resolve);
  });
} else {
  await embed();
}
