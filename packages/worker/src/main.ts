/** The worker program for graphs: runs a worker with the ONNX Runtime engine. */
import { onnxruntimeEngine } from './onnxruntime/onnxruntime-engine.ts';
import { runWorker } from './run-worker.ts';

runWorker([onnxruntimeEngine]);
