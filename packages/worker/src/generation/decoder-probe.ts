/**
 * Finds out at load how a decoder can be run so that the bits of a text depend on its own tokens alone: whether padding of the cache
 * is really ignored, whether company in a run changes anything, and whether reading the same tokens again gives the same bits.
 */
import { cpus } from 'node:os';
import { cacheTokensFor, type DecodeConfig, resolveDecodeConfig } from '@millrace/generation';
import type { GeneratorProbe } from '@millrace/protocol';
import { engineEnvironment, type InferenceSession } from '../onnxruntime/onnxruntime.ts';
import { DecodeLoop } from './decode-loop.ts';
import { ShortenedCache } from './decoder-runs.ts';
import { type DecoderTensors, tokenBytesOf } from './decoder-tensors.ts';

export interface DecoderProbe {
  readonly config: DecodeConfig;
  /** Repeated runs give the same bits. */
  readonly isExact: boolean;
  /** What the probe had to give up; empty: nothing. */
  readonly findings: readonly string[];
}

/** Lengths of the prompts: one piece, several pieces, and one that a step takes over the end of its cache. */
const promptLengths = [5, 62, 71] as const;
const outputTokens = 5;
/** A context below this has no room for a prompt. */
export const probeTokensMin = outputTokens + 1;
/** Of the largest logit of a position. */
const toleranceByDatatype = { FP32: 1e-3, FP16: 5e-2 } as const;

/** Of what a probe looks at; what was found by another one is found again. */
const probeVersion = 2;

/** The key of a probe: other weights give other bits, and so may another engine, processor, number of threads or length of a text. */
export function probeKeyOf(digest: string, threads: number, contextTokensMax: number): string {
  const processor = cpus()[0]?.model ?? 'unknown';
  const { node, common } = engineEnvironment.versions;
  return `${digest} onnxruntime ${node ?? common} ${process.arch} ${processor} threads ${threads} context ${contextTokensMax} probe ${probeVersion}`;
}

/** What an earlier probe with the same key found. */
export function keptProbe(
  { layout, rowsMax, isExact, findings }: GeneratorProbe,
  tensors: DecoderTensors,
  options: Partial<DecodeConfig>,
): DecoderProbe {
  const config = resolveDecodeConfig({ ...options, tokenBytes: tokenBytesOf(tensors) });
  return { config: { ...config, layout, rowsMax: Math.min(rowsMax, config.rowsMax) }, isExact, findings };
}

/** @param promptVocabulary the tokens of prompts have ids below it */
export async function probeDecoder(
  session: InferenceSession,
  tensors: DecoderTensors,
  options: Partial<DecodeConfig>,
  contextTokensMax: number,
  promptVocabulary: number = tensors.vocabulary,
): Promise<DecoderProbe> {
  const findings: string[] = [];
  let config = resolveDecodeConfig({ ...options, tokenBytes: tokenBytesOf(tensors) });
  const prompts = promptLengths
    .map((length) => Math.min(length, contextTokensMax - outputTokens))
    .filter((length) => length > 0)
    .map((length, index) => promptOf(length, index, promptVocabulary));
  const run = (tried: DecodeConfig, chosen: readonly (readonly number[])[]): Promise<readonly Float32Array[][]> =>
    generated(new DecodeLoop({ session, tensors, config: tried, isolatesFailures: false }), chosen);
  const alone = async (tried: DecodeConfig): Promise<readonly Float32Array[][]> => {
    const each: Float32Array[][] = [];
    for (const prompt of prompts) each.push(...(await run(tried, [prompt])));
    return each;
  };
  const plain = await alone({ ...config, layout: 'exact' });
  let first = plain;
  if (config.layout === 'padded') {
    const padded = await unlessFailed(alone(config));
    // A window, or positions that change at some length, may be longer than these prompts: a short text with as much padding as there can
    // be shows any that padding could reach.
    const longest = cacheTokensFor(contextTokensMax - 1, config);
    const stretched = await unlessFailed(run({ ...config, paddingTokensMin: longest }, prompts.slice(0, 1)));
    if (areClose(plain, padded, toleranceOf(tensors)) && areClose(plain.slice(0, 1), stretched, toleranceOf(tensors))) {
      first = padded;
    } else {
      findings.push('it does not ignore padding, so only texts of one length share runs');
      config = { ...config, layout: 'exact' };
    }
  }
  const longPrompt = prompts.at(-1) ?? [];
  if (config.prefillTokensMax > 1 && longPrompt.length > config.prefillTokensMax) {
    const atOnce = await run({ ...config, layout: 'exact', prefillTokensMax: longPrompt.length }, [longPrompt]);
    if (!areClose(plain.slice(-1), atOnce, toleranceOf(tensors))) {
      findings.push(
        `its logits depend on how a prompt is divided, so prompts of more than ${config.prefillTokensMax} tokens may continue otherwise than when they are read at once`,
      );
    }
  }
  const isExact = areEqual(first, await alone(config));
  if (!isExact) findings.push('repeated runs give other bits, so a text that is resumed may continue otherwise');
  // Each beside another of its length, with which it shares runs in any layout; a copy of itself would not show what others change.
  const company = prompts.flatMap((prompt, index) => [
    prompt,
    promptOf(prompt.length, promptLengths.length + index, promptVocabulary),
  ]);
  const inCompany = async (): Promise<readonly Float32Array[][]> =>
    (await run(config, company)).filter((_, index) => index % 2 === 0);
  if (config.rowsMax > 1 && !areEqual(first, await inCompany())) {
    findings.push('the bits of a text change with the texts beside it, so each runs alone');
    config = { ...config, rowsMax: 1 };
  }
  return { config, isExact, findings };
}

/** No logits where padding makes a run fail. Rejects when the graph keeps fewer tokens than it is given, which it does without padding too. */
async function unlessFailed(steps: Promise<readonly Float32Array[][]>): Promise<readonly Float32Array[][]> {
  try {
    return await steps;
  } catch (error) {
    if (error instanceof Error && error.cause instanceof ShortenedCache) throw error;
    return [];
  }
}

/** Any tokens will do; the same at every load. The first is the highest, which a graph with fewer tokens does not take. */
function promptOf(length: number, index: number, vocabulary: number): readonly number[] {
  return Array.from({ length }, (_, at) => (at === 0 ? vocabulary - 1 : (7 + index * 131 + at * 37) % vocabulary));
}

/** For each prompt the logits of every step, going on with the most probable token. */
function generated(loop: DecodeLoop, prompts: readonly (readonly number[])[]): Promise<readonly Float32Array[][]> {
  return Promise.all(
    prompts.map(
      (prompt) =>
        new Promise<Float32Array[]>((resolve, reject) => {
          const steps: Float32Array[] = [];
          loop.begin(prompt, {
            onLogits: (logits) => {
              steps.push(new Float32Array(logits));
              if (steps.length < outputTokens) return indexOfGreatest(logits);
              resolve(steps);
              return undefined;
            },
            onFailed: reject,
          });
        }),
    ),
  );
}

function indexOfGreatest(logits: Float32Array): number {
  let greatest = 0;
  for (let index = 1; index < logits.length; index++) {
    if ((logits[index] as number) > (logits[greatest] as number)) greatest = index;
  }
  return greatest;
}

function toleranceOf({ caches }: DecoderTensors): number {
  return toleranceByDatatype[caches.some(({ datatype }) => datatype === 'FP16') ? 'FP16' : 'FP32'];
}

function areClose(expected: readonly Float32Array[][], given: readonly Float32Array[][], tolerance: number): boolean {
  return expected.every((steps, text) =>
    steps.every((logits, step) => {
      const others = given[text]?.[step];
      if (others === undefined) return false;
      let largest = 0;
      for (const logit of logits) if (Number.isFinite(logit)) largest = Math.max(largest, Math.abs(logit));
      // Equal first: the difference of two infinite logits is no number.
      return logits.every((logit, index) => {
        const other = others[index] as number;
        return Object.is(logit, other) || Math.abs(logit - other) <= tolerance * largest;
      });
    }),
  );
}

function areEqual(expected: readonly Float32Array[][], given: readonly Float32Array[][]): boolean {
  return expected.every((steps, text) =>
    steps.every((logits, step) => {
      const others = given[text]?.[step];
      return others !== undefined && Buffer.compare(bytesOf(logits), bytesOf(others)) === 0;
    }),
  );
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
