export * from './onnx-graph.ts';
export * from './onnx-models.ts';
