/** What the worker of a generator says about its work, at the end of the frames that answer a batch. */
import type { FrameCursor } from './frame-cursor.ts';

/** Why a text ends: an end-of-text token or a stop string, or as many tokens as were asked for. */
export const finishReasons = ['stop', 'length'] as const;
export type FinishReason = (typeof finishReasons)[number];

/** The texts of one generator in one worker. */
export interface GenerationLoad {
  /** Texts that have a cache. */
  readonly running: number;
  readonly waiting: number;
  /** What the keys and values of all texts take, and may take, which is more than 0. */
  readonly cacheBytes: number;
  readonly cacheBytesMax: number;
  /** How often a text had to give its cache up for others, since the model was loaded. */
  readonly preemptions: number;
}

/** One token of a text. */
export interface GeneratedUsage {
  /** Tokens of the prompt. */
  readonly promptTokens: number;
  /** Of the last token of a text. */
  readonly finishReason?: FinishReason;
}

export interface GenerationReport extends GenerationLoad {
  /** Of the token in a `partial-answer`. */
  readonly usage?: GeneratedUsage;
}

export const generationReportBytes = 40;

/** Undefined: the frame ends here, or is not of a generator. */
export function takeGenerationReport(cursor: FrameCursor): GenerationReport | undefined {
  if (cursor.isAtEnd) return undefined;
  const promptTokens = cursor.u32();
  const finishReason = finishReasons[cursor.u32() - 1];
  const load = {
    running: cursor.u32(),
    waiting: cursor.u32(),
    cacheBytes: cursor.u53(),
    cacheBytesMax: cursor.u53(),
    preemptions: cursor.u53(),
  };
  if (load.cacheBytesMax === 0) return undefined;
  if (promptTokens === 0) return load;
  return { ...load, usage: finishReason === undefined ? { promptTokens } : { promptTokens, finishReason } };
}

/** The number of a reason in a frame; 0: none. */
export function finishNumberOf(reason: FinishReason | undefined): number {
  return reason === undefined ? 0 : finishReasons.indexOf(reason) + 1;
}
