/**
 * Dispatch messages as bytes, for lanes that cross a process: numbers, limits and errors of the frames. Their layout,
 * field by field, is in docs/reference/dispatch.md, for those who write a worker in another language; a test decodes
 * the examples there. What is changed here must stay readable for workers that were built before: see its section
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

/** "MILL", read as bytes. */
export const frameMagic = 0x4c_4c_49_4d;
export const frameHeaderBytes = 8;
export const frameAlignmentBytes = 8;
/** The longest frame a link takes unless told otherwise; a batch that does not fit is refused, never split. */
export const frameBytesMaxDefault = 2 ** 30;
/** Only a frame with tensors or a model's configuration can be longer than this; the others always fit. */
export const frameBytesMaxLeast = 16_384;
/** A failure told at greater length is cut off there. */
export const failureTextBytesMax = 8192;
/** More released outputs than this take another frame. */
export const releaseOffsetsMax = 1024;

/** Permanent: a number is never given to another kind. */
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

/** The first frame each way: says what is spoken and how much shared memory there is each way; the worker answers with what it could map. */
export interface HelloFrame {
  readonly kind: 'hello';
  /** Of the dispatch protocol; the link uses the newest that both sides speak. */
  readonly versions: VersionRange;
  /** From the mapping's start: what the router writes and the worker reads. */
  readonly toWorkerBytes: number;
  /** Behind it: what the worker writes and the router reads. */
  readonly toRouterBytes: number;
  /** The longest frame the sender of this one takes; of a worker at least what its router said, which sends frames as long as that. */
  readonly frameBytesMax: number;
}

/** The router has used these outputs; the worker may write there again. */
export interface ReleaseFrame {
  readonly kind: 'release';
  readonly offsets: readonly number[];
}

/** Finish what you hold, then end. */
export interface StopFrame {
  readonly kind: 'stop';
}

export type FrameToWorker = HelloFrame | ToWorker | ReleaseFrame | StopFrame;
/** What a worker says itself: everything but `gone`, which its link says of it. */
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

/** The region at an offset of the memory the other side writes, or undefined when that lies outside of it. */
export type FindShared = (offset: number, bytes: number) => Region | undefined;

/** The other side does not keep to the protocol; its link treats it as gone. */
export class MalformedFrame extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MalformedFrame';
  }
}

/** A frame of a kind that does not go this way, or that the version of the link does not have. */
export class UnknownFrameKind extends MalformedFrame {
  constructor(kind: number, way: 'goes to a worker' | 'comes from a worker') {
    super(`no frame of kind ${kind} ${way} in the version of the dispatch protocol that is spoken here`);
    this.name = 'UnknownFrameKind';
  }
}

export function alignedLength(bytes: number): number {
  return Math.ceil(bytes / frameAlignmentBytes) * frameAlignmentBytes;
}
