export * from './engine.ts';
export { batchesMaxDefault } from './host/worker-host.ts';
export * from './inline-lane.ts';
export { onnxruntimeEngine } from './onnxruntime/onnxruntime-engine.ts';
