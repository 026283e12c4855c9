export * from './model-repository.ts';
export * from './onnx-graph.ts';
export * from './onnx-models.ts';
export * from './pipeline-engine-of.ts';
export * from './png-file.ts';
export * from './silent-engine.ts';
export * from './storyteller-folder.ts';
export * from './used-memory.ts';
