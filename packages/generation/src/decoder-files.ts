/** The files beside model.onnx that describe a decoder. */
export const decoderFileNames = [
  'tokenizer.json',
  'tokenizer_config.json',
  'generation_config.json',
  'config.json',
  'genai_config.json',
] as const;

export type DecoderFileName = (typeof decoderFileNames)[number];

/** The texts of the files that are there. */
export type DecoderFiles = { readonly [name in DecoderFileName]?: string | undefined };
