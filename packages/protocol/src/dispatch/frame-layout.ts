/**
 * Dispatch messages as bytes, for lanes that cross a process: numbers, limits and errors of the frames. Their layout,
 * field by field, is in docs/reference/dispatch.md, for authors of workers in other languages; a test decodes
 * the examples there. Changes here must stay readable for workers that were built before: see its section
 * about versions.
 */
import type {
  AnsweredMessage,
  CallCancelledMessage,
  CallMessage,
  CreditMessage,
  FailedMessage,
  LoadFailedMessage,
  PartialAnswerMessage,
  ReadyMessage,
  Region,
  ToWorker,
} from './messages.ts';
import type { VersionRange } from './versions.ts';
import type { WorkerIdentity } from './worker-identity.ts';

/** "MILL", read as bytes. */
export const frameMagic = 0x4c_4c_49_4d;
export const frameHeaderBytes = 8;
export const frameAlignmentBytes = 8;
/** The longest frame that a link accepts by default; a batch that does not fit is refused, never split. */
export const frameBytesMaxDefault = 2 ** 30;
/** Only a frame with tensors or a model's configuration can be longer than this; all others fit. */
export const frameBytesMaxLeast = 16_384;
/** A longer failure message is truncated. */
export const failureTextBytesMax = 8192;
/** More released outputs than this need another frame. */
export const releaseOffsetsMax = 1024;

/** Permanent: a number is never reused for another kind. */
export const frameKinds = {
  hello: 1,
  load: 2,
  unload: 3,
  dispatch: 4,
  cancel: 5,
  release: 6,
  stop: 7,
  ready: 8,
  'load-failed': 9,
  credit: 10,
  answered: 11,
  failed: 12,
  call: 13,
  'call-answered': 14,
  'call-failed': 15,
  'call-cancelled': 16,
  'load-refused': 17,
  'partial-answer': 18,
  grant: 19,
} as const;

export const placementInFrame = 0;
export const placementShared = 1;

/**
 * The first frame in each direction: its versions, and the size of shared memory each way; the worker answers with what
 * it could map.
 */
export interface HelloFrame {
  readonly kind: 'hello';
  /** Versions of the dispatch protocol; the link uses the newest that both sides support. */
  readonly versions: VersionRange;
  /** At the start of the mapping: what the router writes and the worker reads. */
  readonly toWorkerBytes: number;
  /** After it: what the worker writes and the router reads. */
  readonly toRouterBytes: number;
  /**
   * The longest frame that the sender of this one accepts; for a worker at least what its router said, which sends
   * frames of that length.
   */
  readonly frameBytesMax: number;
  /** Who the worker is; absent in a router's greeting, and in that of a worker which does not say. */
  readonly worker?: WorkerIdentity;
}

/** The router has used these outputs; the worker may overwrite them. */
export interface ReleaseFrame {
  readonly kind: 'release';
  readonly offsets: readonly number[];
}

/** Finish what you hold, then exit. */
export interface StopFrame {
  readonly kind: 'stop';
}

export type FrameToWorker = HelloFrame | ToWorker | ReleaseFrame | StopFrame;
/** What a worker sends itself: everything but `gone`, which its link reports. */
export type WorkerMessage =
  | ReadyMessage
  | LoadFailedMessage
  | CreditMessage
  | AnsweredMessage
  | PartialAnswerMessage
  | FailedMessage
  | CallMessage
  | CallCancelledMessage;
export type FrameFromWorker = HelloFrame | WorkerMessage;

/** The region at an offset of the memory that the peer writes, or undefined when it is outside of it. */
export type FindShared = (offset: number, bytes: number) => Region | undefined;

/** The peer violates the protocol; its link treats it as gone. */
export class MalformedFrame extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MalformedFrame';
  }
}

/** A frame of a kind that is not sent in this direction, or not in the version of the link. */
export class UnknownFrameKind extends MalformedFrame {
  constructor(kind: number, way: 'goes to a worker' | 'comes from a worker') {
    super(`no frame of kind ${kind} ${way} in this version of the dispatch protocol`);
    this.name = 'UnknownFrameKind';
  }
}

export function alignedLength(bytes: number): number {
  return Math.ceil(bytes / frameAlignmentBytes) * frameAlignmentBytes;
}
