export * from './engine.ts';
export { batchesMaxDefault } from './host/worker-host.ts';
export * from './inline-lane.ts';
export { onnxruntimeEngine } from './onnxruntime/onnxruntime-engine.ts';
export { imageBytesMax, imagePixelsMax } from './pipeline/decode-image.ts';
export { pipelineEngine } from './pipeline/pipeline-engine.ts';
export { runWorker } from './run-worker.ts';
