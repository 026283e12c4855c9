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

export interface DecodeFigures {
  /** Tokens a second of the whole engine, from text to outputs. */
  readonly oneText: number;
  readonly sixteenTexts: number;
  /** Tokens a second of sixteen texts: by all of the decode loop's time, and by that of its runs of the model alone. */
  readonly decodeLoop: number;
  readonly bareRuns: number;
  /** The longest time between two tokens of fifteen texts, undisturbed and while a prompt of 300 tokens is read; one piece of it alone. */
  readonly longestGapMs: number;
  readonly longestGapWithPromptMs: number;
  readonly prefillPieceMs: number;
}

const outputTokens = 120;
const texts = 16;

export async function measureDecoding(): Promise<DecodeFigures> {
  const session = await loaded();
  await generated(session, 1, 16);
  const oneText = await generated(session, 1, outputTokens);
  const sixteenTexts = await generated(session, texts, outputTokens);
  await session.unload();
  const decoder = await readDecoder(storytellerFile);
  const model = await InferenceSession.create(decoder.model as Uint8Array, {
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  });
  const runs = await comparedRuns(model, decoder);
  const gaps = await measuredGaps(model, decoder);
  await model.release();
  return { oneText, sixteenTexts, ...runs, ...gaps };
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

/** Of one pass: all of its time, and that of its runs of the model, on the same data. */
async function comparedRuns(
  session: InferenceSession,
  decoder: ReadDecoder,
): Promise<Pick<DecodeFigures, 'decodeLoop' | 'bareRuns'>> {
  let runMs = 0;
  const clocked = {
    run: async (feeds: InferenceSession.FeedsType, fetches: readonly string[]) => {
      const beganAt = performance.now();
      const outputs = await session.run(feeds, fetches);
      runMs += performance.now() - beganAt;
      return outputs;
    },
  } as unknown as InferenceSession;
  await greedy(loopOn(session, decoder), texts, outputTokens);
  let tokens = 0;
  const loopMs = await timed(async () => {
    tokens = await greedy(loopOn(clocked, decoder), texts, outputTokens);
  });
  return { decodeLoop: (tokens * 1000) / loopMs, bareRuns: (tokens * 1000) / runMs };
}

/** Generates so many tokens of each text; returns how many in all. */
function greedy(loop: DecodeLoop, count: number, tokens: number): Promise<number> {
  const each = Array.from({ length: count }, (_, index) =>
    told(loop, [0, 1324, 1325, 259, 400 + index], tokens, () => {}),
  );
  return Promise.all(each).then((lengths) => lengths.reduce((sum, length) => sum + length, 0));
}

function told(loop: DecodeLoop, prompt: readonly number[], tokens: number, onToken: () => void): Promise<number> {
  return new Promise((resolve, reject) => {
    let given = 0;
    loop.begin(prompt, {
      onLogits: (logits) => {
        given += 1;
        onToken();
        if (given === tokens) {
          resolve(given);
          return undefined;
        }
        let best = 1;
        for (let id = 2; id < logits.length; id++) if ((logits[id] as number) > (logits[best] as number)) best = id;
        return best;
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
    const others = Array.from({ length: texts - 1 }, (_, index) => {
      let lastAt: number | undefined;
      return told(loop, [0, 1324, 1325, 259, 400 + index], 60, () => {
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
