export * from './chat-template.ts';
export {
  type CacheLayout,
  cacheTokensFor,
  type DecodeConfig,
  defaultDecodeConfig,
  resolveDecodeConfig,
  sequenceTokensMax,
} from './decode/decode-config.ts';
export {
  type DecodeCounts,
  DecodeScheduler,
  type DecodeStep,
  type DropStep,
  type PrefillStep,
  type SequenceId,
  type TokenStep,
} from './decode/decode-scheduler.ts';
export * from './decoder-files.ts';
export * from './decoder-folder.ts';
export * from './generation-config.ts';
export * from './generation-parameters.ts';
export * from './log-probabilities.ts';
export * from './model-file-error.ts';
export * from './output-text.ts';
export { type NumberRange, numberRanges } from './parameter-values.ts';
export * from './sampler.ts';
export * from './stop-strings.ts';
export * from './text-decoder.ts';
export * from './text-limit.ts';
export * from './token-history.ts';
export * from './tokenizer.ts';
