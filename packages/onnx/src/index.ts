export * from './analyse-rows.ts';
export * from './byte-source.ts';
export * from './element-types.ts';
export * from './onnx-file-error.ts';
export * from './onnx-graph.ts';
export * from './read-onnx-graph.ts';
export * from './row-verdict.ts';
export * from './zip-map.ts';
