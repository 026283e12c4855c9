/** The worker program: which engines a worker has. */
import { onnxruntimeEngine } from './onnxruntime/onnxruntime-engine.ts';
import { runWorker } from './run-worker.ts';

runWorker([onnxruntimeEngine]);
