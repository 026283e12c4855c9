/** How fast the storyteller generates, measured in this process: for benches. */

import { resolveDecodeConfig } from '@millrace/generation';
import { encodeBytesElements } from '@millrace/protocol';
import type { Session } from '../../engine.ts';
import { InferenceSession } from '../../onnxruntime/onnxruntime.ts';
import { fakeLoadSpec } from '../../testing/fake-load-spec.ts';
import { storytellerFile } from '../../testing/storyteller-folder.ts';
import { warmUpMemory } from '../../warm-up/warm-up-memory.ts';
import { DecodeLoop } from '../decode-loop.ts';
import { tokenBytesOf } from '../decoder-tensors.ts';
import { generatorEngine } from '../generator-engine.ts';
import { type ReadDecoder, readDecoder } from '../read-decoder.ts';
import {
  decodeOnCutGraph,
  decodeOnUncutGraph,
  measuredSessionOptions,
  mostProbable,
  openUncutStoryteller,
} from './bare-decode.ts';

export interface DecodeFigures {
  /** Tokens a second of the whole engine, from text to outputs. */
  readonly oneText: number;
  readonly sixteenTexts: number;
  /**
   * Tokens a second of sixteen texts: by the decode loop, by a plain loop around `session.run` with the graph and the shapes of the decode
   * loop, and by one with the graph as it was exported, which hands the whole cache back.
   */
  readonly decodeLoop: number;
  readonly bareLoop: number;
  readonly handedBack: number;
  /** The longest time between two tokens of fifteen texts, undisturbed and while a prompt of 300 tokens is read; one piece of it alone. */
  readonly longestGapMs: number;
  readonly longestGapWithPromptMs: number;
  readonly prefillPieceMs: number;
}

const outputTokens = 120;
const texts = 16;

export async function measureDecoding(): Promise<DecodeFigures> {
  const session = await loaded();
  const company = await comparedCompany(session);
  await session.unload();
  const decoder = await readDecoder(storytellerFile);
  const model = await InferenceSession.create(decoder.model as Uint8Array, measuredSessionOptions);
  const runs = await comparedLoops(model, decoder);
  const gaps = await measuredGaps(model, decoder);
  await model.release();
  return { ...company, ...runs, ...gaps };
}

function loaded(): Promise<Session> {
  const bytes = (name: string) => ({ name, datatype: 'BYTES' as const, shape: [1] });
  return generatorEngine.load({
    ...fakeLoadSpec,
    name: 'storyteller',
    engine: 'generator',
    path: storytellerFile,
    inputs: [bytes('text_input'), bytes('sampling_parameters')],
    outputs: [
      bytes('text_output'),
      { name: 'token', datatype: 'INT64', shape: [-1] },
      bytes('finish_reason'),
      { name: 'output_tokens', datatype: 'INT32', shape: [1] },
    ],
    isBatched: false,
    threads: 1,
    concurrency: 64,
    isDecoupled: true,
  });
}

/** Tokens a second. */
async function generated(session: Session, count: number, tokens: number): Promise<number> {
  const parameters = JSON.stringify({ max_tokens: tokens, ignore_eos: true });
  const inputs = ['Once upon a time', parameters].map((text, index) => ({
    index,
    shape: [1],
    data: encodeBytesElements([text]),
  }));
  const beganAt = performance.now();
  let given = 0;
  await Promise.all(
    Array.from({ length: count }, async () => {
      const run = session.begin?.({ inputs, outputs: [0, 1, 2, 3] });
      while ((await run?.step(warmUpMemory())) !== undefined) given += 1;
    }),
  );
  return (given * 1000) / (performance.now() - beganAt);
}

function loopOn(session: InferenceSession, { tensors }: ReadDecoder): DecodeLoop {
  return new DecodeLoop({ session, tensors, config: resolveDecodeConfig({ tokenBytes: tokenBytesOf(tensors) }) });
}

/** Rounds of a comparison: each way takes its turn in each. The first warms up. */
const rounds = 5;

async function comparedCompany(session: Session): Promise<Pick<DecodeFigures, 'oneText' | 'sixteenTexts'>> {
  const alone: number[] = [];
  const together: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const figures = [await generated(session, 1, outputTokens), await generated(session, texts, outputTokens)] as const;
    if (round === 0) continue;
    alone.push(figures[0]);
    together.push(figures[1]);
  }
  return { oneText: medianOf(alone), sixteenTexts: medianOf(together) };
}

/** The same texts by the decode loop and by plain loops around `session.run`, in turns. */
async function comparedLoops(
  session: InferenceSession,
  decoder: ReadDecoder,
): Promise<Pick<DecodeFigures, 'decodeLoop' | 'bareLoop' | 'handedBack'>> {
  const uncut = await openUncutStoryteller();
  const ways = [
    () => greedy(loopOn(session, decoder), texts, outputTokens),
    () => decodeOnCutGraph(session, decoder, promptsOf(texts), outputTokens),
    () => decodeOnUncutGraph(uncut, decoder, promptsOf(texts), outputTokens),
  ] as const;
  const times = ways.map((): number[] => []);
  const expected = await ways[0]();
  for (let round = 0; round <= rounds; round++) {
    for (const [index, way] of ways.entries()) {
      const beganAt = performance.now();
      const outputs = await way();
      if (round > 0) times[index]?.push(performance.now() - beganAt);
      if (JSON.stringify(outputs) !== JSON.stringify(expected)) throw new Error(`way ${index} gives other tokens`);
    }
  }
  await uncut.release();
  const [decodeLoop, bareLoop, handedBack] = times.map((all) => (texts * outputTokens * 1000) / medianOf(all));
  return { decodeLoop, bareLoop, handedBack } as Record<'decodeLoop' | 'bareLoop' | 'handedBack', number>;
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[values.length >> 1] as number;
}

function promptsOf(count: number): readonly (readonly number[])[] {
  return Array.from({ length: count }, (_, index) => [0, 1324, 1325, 259, 400 + index]);
}

/** So many tokens of each text. */
function greedy(loop: DecodeLoop, count: number, tokens: number): Promise<readonly (readonly number[])[]> {
  return Promise.all(promptsOf(count).map((prompt) => told(loop, prompt, tokens, () => {})));
}

function told(
  loop: DecodeLoop,
  prompt: readonly number[],
  tokens: number,
  onToken: () => void,
): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    const given: number[] = [];
    loop.begin(prompt, {
      onLogits: (logits) => {
        given.push(mostProbable(logits));
        onToken();
        if (given.length < tokens) return given.at(-1);
        resolve(given);
        return undefined;
      },
      onFailed: reject,
    });
  });
}

async function measuredGaps(
  session: InferenceSession,
  decoder: ReadDecoder,
): Promise<Pick<DecodeFigures, 'longestGapMs' | 'longestGapWithPromptMs' | 'prefillPieceMs'>> {
  const longest = async (newcomer: readonly number[] | undefined): Promise<number> => {
    const loop = loopOn(session, decoder);
    let longestMs = 0;
    let isMeasured: boolean = false;
    const others = promptsOf(texts - 1).map((prompt) => {
      let lastAt: number | undefined;
      return told(loop, prompt, 60, () => {
        const now = performance.now();
        if (isMeasured && lastAt !== undefined) longestMs = Math.max(longestMs, now - lastAt);
        lastAt = isMeasured ? now : undefined;
      });
    });
    // When all have their first tokens.
    await told(loop, [0, 1324], 20, () => {});
    isMeasured = true;
    if (newcomer !== undefined) await told(loop, newcomer, 1, () => {});
    await Promise.all(others);
    return longestMs;
  };
  const piece = Array.from({ length: 64 }, (_, index) => 20 + index);
  const prefillPieceMs = await timed(async () => {
    await told(loopOn(session, decoder), piece, 1, () => {});
  });
  const longestGapMs = await longest(undefined);
  const prompt = Array.from({ length: 300 }, (_, index) => 20 + index);
  return { longestGapMs, longestGapWithPromptMs: await longest(prompt), prefillPieceMs };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const beganAt = performance.now();
  await work();
  return performance.now() - beganAt;
}
