export * from './alignment.ts';
export * from './bytes-elements.ts';
export * from './cancellation.ts';
export * from './close-codes.ts';
export * from './copy-of.ts';
export * from './datatypes.ts';
export * from './dispatch/decode-frame.ts';
export * from './dispatch/frame-layout.ts';
export * from './dispatch/frame-reader.ts';
export * from './dispatch/frame-writer.ts';
export {
  type FinishReason,
  finishReasons,
  type GeneratedUsage,
  type GenerationLoad,
  type GenerationReport,
} from './dispatch/generation-report.ts';
export { type GeneratorProbe, takeGeneratorProbe } from './dispatch/generator-probe.ts';
export * from './dispatch/gpu.ts';
export * from './dispatch/heap-region.ts';
export * from './dispatch/lane.ts';
export * from './dispatch/messages.ts';
export * from './dispatch/model-content.ts';
export * from './dispatch/versions.ts';
export * from './dispatch/warm-up.ts';
export * from './dispatch/worker-identity.ts';
export * from './elements.ts';
export * from './engine-shape.ts';
export * from './error-meanings.ts';
export * from './errors.ts';
export * from './file-error-message.ts';
export * from './float16.ts';
export * from './host-name.ts';
export * from './id-map.ts';
export { LongValues, longValueBytesMin } from './json/long-values.ts';
export { takePlainSingles } from './json/plain-numbers.ts';
export {
  type JsonKind,
  type JsonLimits,
  JsonReader,
  type JsonSpan,
  jsonDepthMax,
  jsonSpaceBytesMax,
} from './json/reader.ts';
export { numberCharactersMax } from './json/scan-number.ts';
export {
  beginTensorData,
  continueTensorData,
  type JsonTensorHeader,
  readTensorData,
  type TensorReadOptions,
} from './json/tensor-reader.ts';
export type { TensorTarget } from './json/tensor-target.ts';
export { writeByteElements, writeTensorBetween, writeTensorData, writeTensorSteps } from './json/tensor-writer.ts';
export {
  type JsonObject,
  type JsonValue,
  parseJson,
  readJsonValue,
  stringifyJson,
  unescapedPart,
  writeJsonValue,
} from './json/value.ts';
export { JsonWriter } from './json/writer.ts';
export * from './nearest-name.ts';
export * from './proto-cursor.ts';
export * from './protobuf-fields.ts';
export * from './quote.ts';
export * from './renewed-map.ts';
export * from './streams/frames.ts';
export * from './tensor.ts';
export * from './tensor-shape.ts';
