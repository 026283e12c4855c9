import { defaultDecodeConfig, ModelFileError, resolveDecodeConfig, sequenceTokensMax } from '@millrace/generation';
import { OnnxFileError } from '@millrace/onnx';
import type { LoadSpec } from '@millrace/protocol';
import { type Engine, type Session, UnloadableModel } from '../engine.ts';
import { mustOpenSession, notLoaded } from '../onnxruntime/open-session.ts';
import { DecodeLoop } from './decode-loop.ts';
import { type DecoderProbe, keptProbe, probeDecoder, probeKeyOf, probeTokensMin } from './decoder-probe.ts';
import { tokenBytesOf } from './decoder-tensors.ts';
import { GeneratorSession } from './generator-session.ts';
import { generatorOutputs } from './generator-tensors.ts';
import { type ReadDecoder, readDecoder } from './read-decoder.ts';

/** Where no file has the length of the context and there is no cache that ends it. */
const contextTokensDefault = 32_768;

/** Generates text with decoders in the form of Hugging Face's exporters. */
export const generatorEngine: Engine = {
  name: 'generator',
  isConcurrent: true,

  async load(spec): Promise<Session> {
    const unknown = spec.outputs.find(({ name }) => generatorOutputs[name] === undefined);
    if (unknown !== undefined) throw notLoaded(spec, `a generator has no output "${unknown.name}"`, true);
    const decoder = await mustRead(spec);
    const { tensors, description, tokenizer } = decoder;
    const options = { cacheBytesMax: spec.cacheBytesMax ?? defaultDecodeConfig.cacheBytesMax };
    const contextTokensMax = mustHaveRoom(spec, decoder, options.cacheBytesMax);
    const session = await mustOpenSession(spec, decoder.model);
    try {
      const key = probeKeyOf(decoder.digest, spec.threads, contextTokensMax);
      const found =
        spec.probe?.key === key
          ? keptProbe(spec.probe, tensors, options)
          : await probeDecoder(session, tensors, options, contextTokensMax);
      report(spec, found);
      const { config, isExact, findings } = found;
      const loop = new DecodeLoop({ session, tensors, config });
      const probe = { key, layout: config.layout, rowsMax: config.rowsMax, isExact, findings };
      return new GeneratorSession({ session, loop, description, tokenizer, contextTokensMax, probe }, spec);
    } catch (error) {
      await session.release();
      throw error instanceof Error ? notLoaded(spec, error.message, error instanceof UnloadableModel) : error;
    }
  },
};

async function mustRead(spec: LoadSpec): Promise<ReadDecoder> {
  try {
    return await readDecoder(spec.path);
  } catch (error) {
    const isFinal =
      error instanceof ModelFileError || error instanceof OnnxFileError || error instanceof UnloadableModel;
    throw notLoaded(spec, error instanceof Error ? error.message : String(error), isFinal);
  }
}

/** The most tokens of a text: as many as the model was made for, and as the memory for caches holds. */
function mustHaveRoom(spec: LoadSpec, { description, tensors }: ReadDecoder, cacheBytesMax: number): number {
  const tokenBytes = tokenBytesOf(tensors);
  const tokensMax = sequenceTokensMax(resolveDecodeConfig({ tokenBytes, cacheBytesMax }));
  const contextTokensMax = Math.min(description.contextTokensMax ?? contextTokensDefault, tokensMax);
  if (contextTokensMax < probeTokensMin) {
    const needed = defaultDecodeConfig.paddingTokensMin * tokenBytes;
    throw notLoaded(
      spec,
      `its texts may have ${contextTokensMax} tokens: caches may take ${cacheBytesMax} bytes, and one of the smallest takes ${needed}; raise millrace.generator_cache_bytes_max`,
      true,
    );
  }
  return contextTokensMax;
}

/** On stderr, which the router logs. */
function report({ name, version }: LoadSpec, { findings }: DecoderProbe): void {
  for (const finding of findings) process.stderr.write(`generator "${name}" version ${version}: ${finding}\n`);
}
