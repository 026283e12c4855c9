export * from './bytes-elements.ts';
export * from './cancellation.ts';
export * from './datatypes.ts';
export * from './dispatch/decode-frame.ts';
export * from './dispatch/frame-layout.ts';
export * from './dispatch/frame-reader.ts';
export * from './dispatch/frame-writer.ts';
export * from './dispatch/gpu.ts';
export * from './dispatch/heap-region.ts';
export * from './dispatch/lane.ts';
export * from './dispatch/messages.ts';
export * from './dispatch/warm-up.ts';
export * from './elements.ts';
export * from './engine-shape.ts';
export * from './errors.ts';
export * from './float16.ts';
export * from './host-name.ts';
export { type JsonKind, JsonReader, type JsonSpan, jsonDepthMax } from './json/reader.ts';
export { numberCharactersMax } from './json/scan-number.ts';
export { readTensorData, type TensorHeader, type TensorReadOptions } from './json/tensor-reader.ts';
export { writeTensorData } from './json/tensor-writer.ts';
export {
  type JsonObject,
  type JsonValue,
  parseJson,
  readJsonValue,
  stringifyJson,
  writeJsonValue,
} from './json/value.ts';
export { JsonWriter } from './json/writer.ts';
export * from './tensor.ts';
export * from './tensor-shape.ts';
