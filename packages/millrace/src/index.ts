export type { Config, NamedField, Options } from './config/fields.ts';
export { configFields } from './config/fields.ts';
export type { ConfigSources } from './config/resolve-config.ts';
export { resolveConfig } from './config/resolve-config.ts';
export * from './engine.ts';
export type { EngineOptions } from './engine-options.ts';
export type { InferOptions, SequenceOptions } from './infer-options.ts';
export type { HalfFloats, InputValue, OutputValue, TypedArray } from './tensor-values.ts';
export { version } from './version.ts';
