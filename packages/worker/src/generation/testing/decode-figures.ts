/** How fast a decoder generates, measured in this process: for benches. */

import { resolveDecodeConfig } from '@millrace/generation';
import { encodeBytesElements } from '@millrace/protocol';
import type { Session } from '../../engine.ts';
import type { InferenceSession } from '../../onnxruntime/onnxruntime.ts';
import { fakeLoadSpec } from '../../testing/fake-load-spec.ts';
import { warmUpMemory } from '../../warm-up/warm-up-memory.ts';
import { DecodeLoop } from '../decode-loop.ts';
import { tokenBytesOf } from '../decoder-tensors.ts';
import { generatorEngine } from '../generator-engine.ts';
import { type ReadDecoder, readDecoder } from '../read-decoder.ts';
import { decodeOnCutGraph, decodeOnUncutGraph, mostProbable, openMeasured } from './bare-decode.ts';

export interface DecodeMeasurement {
  /** The graph of the decoder; its vocabulary has at least 1,326 tokens. */
  readonly file: string;
  /** Of each text. */
  readonly outputTokens: number;
  /** Each way takes its turn in each round, and one more warms up. */
  readonly rounds: number;
  /** Whether `handedBack` is wanted. */
  readonly hasHandedBack: boolean;
}

/** Tokens a second. */
export interface DecodeRates {
  /** Of the whole engine, from text to outputs. */
  readonly oneText: number;
  readonly sixteenTexts: number;
  /** Of sixteen texts: by the decode loop, and by a plain loop around `session.run` with the graph and the shapes of the decode loop. */
  readonly decodeLoop: number;
  readonly bareLoop: number;
  /** By a loop with the graph as it was exported, which hands the whole cache back. */
  readonly handedBack?: number | undefined;
}

export interface DecodeGaps {
  /** The longest time between two tokens of fifteen texts, undisturbed and while a prompt of 300 tokens is read; one piece of it alone. */
  readonly longestGapMs: number;
  readonly longestGapWithPromptMs: number;
  readonly prefillPieceMs: number;
}

const texts = 16;

export async function measureDecoding(measurement: DecodeMeasurement): Promise<DecodeRates> {
  const session = await loaded(measurement.file);
  const company = await comparedCompany(session, measurement);
  await session.unload();
  const decoder = await readDecoder(measurement.file);
  const model = await openMeasured(measurement.file, decoder.model);
  const runs = await comparedLoops(model, decoder, measurement);
  await model.release();
  return { ...company, ...runs };
}

/** @param file the graph of a decoder whose texts may have 300 tokens */
export async function measureGaps(file: string): Promise<DecodeGaps> {
  const decoder = await readDecoder(file);
  const model = await openMeasured(file, decoder.model);
  const gaps = await measuredGaps(model, decoder);
  await model.release();
  return gaps;
}

function loaded(file: string): Promise<Session> {
  const bytes = (name: string) => ({ name, datatype: 'BYTES' as const, shape: [1] });
  return generatorEngine.load({
    ...fakeLoadSpec,
    name: 'measured',
    engine: 'generator',
    path: file,
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

async function comparedCompany(
  session: Session,
  { rounds, outputTokens }: DecodeMeasurement,
): Promise<Pick<DecodeRates, 'oneText' | 'sixteenTexts'>> {
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
  { file, rounds, outputTokens, hasHandedBack }: DecodeMeasurement,
): Promise<Pick<DecodeRates, 'decodeLoop' | 'bareLoop' | 'handedBack'>> {
  const uncut = hasHandedBack ? await openMeasured(file, file) : undefined;
  const ways = [
    () => greedy(loopOn(session, decoder), texts, outputTokens),
    () => decodeOnCutGraph(session, decoder, promptsOf(texts), outputTokens),
    ...(uncut === undefined ? [] : [() => decodeOnUncutGraph(uncut, decoder, promptsOf(texts), outputTokens)]),
  ];
  const times = ways.map((): number[] => []);
  let expected: string | undefined;
  for (let round = 0; round <= rounds; round++) {
    for (const [index, way] of ways.entries()) {
      const beganAt = performance.now();
      const outputs = JSON.stringify(await way());
      if (round > 0) times[index]?.push(performance.now() - beganAt);
      expected ??= outputs;
      if (outputs !== expected) throw new Error(`way ${index} gives other tokens`);
    }
  }
  await uncut?.release();
  const [decodeLoop, bareLoop, handedBack] = times.map((all) => (texts * outputTokens * 1000) / medianOf(all));
  return { decodeLoop: decodeLoop as number, bareLoop: bareLoop as number, handedBack };
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

async function measuredGaps(session: InferenceSession, decoder: ReadDecoder): Promise<DecodeGaps> {
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
