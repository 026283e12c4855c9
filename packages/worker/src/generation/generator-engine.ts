import { basename } from 'node:path';
import {
  type DecodeConfig,
  defaultDecodeConfig,
  ModelFileError,
  resolveDecodeConfig,
  sequenceTokensMax,
} from '@millrace/generation';
import { OnnxFileError } from '@millrace/onnx';
import type { LoadSpec } from '@millrace/protocol';
import { type Engine, type Session, UnloadableModel } from '../engine.ts';
import type { InferenceSession } from '../onnxruntime/onnxruntime.ts';
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
    const cacheBytesMax = spec.cacheBytesMax ?? defaultDecodeConfig.cacheBytesMax;
    const options = { cacheBytesMax, ...shapesOf(decoder) };
    const contextTokensMax = mustHaveRoom(spec, decoder, cacheBytesMax);
    const session = await mustOpenSession(spec, decoder.model);
    try {
      const key = probeKeyOf(decoder.digest, spec.threads, contextTokensMax);
      const found =
        spec.probe?.key === key
          ? keptProbe(spec.probe, tensors, options)
          : await mustProbe(spec, decoder, session, options, contextTokensMax);
      report(spec, [...folderFindings(decoder), ...found.findings]);
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

/** How runs are shaped by the graph alone. */
function shapesOf({ description, tensors }: ReadDecoder): Partial<DecodeConfig> {
  const { isSingleRow, isSingleToken } = description.sizes;
  return {
    ...(isSingleRow ? { rowsMax: 1 } : {}),
    ...(isSingleToken ? { prefillTokensMax: 1 } : {}),
    // Every run reads whole texts, so those that share one have the same length.
    ...(tensors.caches.length === 0 ? { layout: 'exact' as const } : {}),
  };
}

function folderFindings({ description: { sizes, cache, defaults } }: ReadDecoder): readonly string[] {
  const findings: string[] = [];
  if (defaults.eosTokenIds.length === 0) {
    findings.push(
      'no file beside it names an end-of-text token (eos_token_id), so a text ends by max_tokens, a stop string or the end of the context alone',
    );
  }
  if (cache === undefined)
    findings.push('its graph has no cache, so every token takes as long as reading all of its text');
  if (sizes.isSingleRow) findings.push('its graph has the fixed batch size 1, so each text runs alone');
  if (sizes.isSingleToken)
    findings.push('its graph has the fixed sequence length 1, so prompts are read token by token');
  return findings;
}

/** ONNX Runtime could not get memory, which may pass. */
const memoryFailure = /alloc|memory/i;

async function mustProbe(
  spec: LoadSpec,
  { tensors, tokenizer }: ReadDecoder,
  session: InferenceSession,
  options: Partial<DecodeConfig>,
  contextTokensMax: number,
): Promise<DecoderProbe> {
  const promptVocabulary = Math.min(tokenizer.vocabularySize, tensors.vocabulary);
  try {
    return await probeDecoder(session, tensors, options, contextTokensMax, promptVocabulary);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const isFinal = !memoryFailure.test(message);
    const why = `${basename(spec.path)}: a trial run with tokens from 0 to ${promptVocabulary - 1} failed, so the graph does not fit the files beside it or takes other values than exporters of Hugging Face define (${message})`;
    throw isFinal ? new UnloadableModel(why) : new Error(why, { cause: error });
  }
}

/** On stderr, which the router logs. */
function report({ name, version }: LoadSpec, findings: readonly string[]): void {
  for (const finding of findings) process.stderr.write(`generator "${name}" version ${version}: ${finding}\n`);
}
