/**
 * Dispatch messages as bytes, for lanes that cross a process. A stream of frames, each a multiple of 8 bytes long, all
 * numbers little-endian:
 *
 *     0  u32  length of the frame, this field included
 *     4  u8   kind
 *     5  u8   placement of tensor data: 0 in this frame, 1 in memory both processes have mapped
 *     6  u16  number of tensors
 *     8       the fields of the kind
 *
 * The first frame each way is `hello`. A tensor in the frame begins at a multiple of 8 from the frame's start, so that a
 * typed array can be laid over it. Integers of 64 bits stay below 2^53.
 */
import type {
  AnsweredMessage,
  CreditMessage,
  FailedMessage,
  LoadFailedMessage,
  ReadyMessage,
  Region,
  ToWorker,
} from './messages.ts';

export const frameVersion = 1;
/** "MILL", read as bytes. */
export const frameMagic = 0x4c_4c_49_4d;
export const frameHeaderBytes = 8;
export const frameAlignmentBytes = 8;
/** The longest frame a link takes unless told otherwise; a batch that does not fit is refused, never split. */
export const frameBytesMaxDefault = 2 ** 30;

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
} as const;

export const failureCodes = ['inference-failed', 'cancelled', 'unknown-model', 'unsupported'] as const;

export const placementInFrame = 0;
export const placementShared = 1;

/** Says what is spoken and how much shared memory there is each way; the worker answers with what it could map. */
export interface HelloFrame {
  readonly kind: 'hello';
  /** From the mapping's start: what the router writes and the worker reads. */
  readonly toWorkerBytes: number;
  /** Behind it: what the worker writes and the router reads. */
  readonly toRouterBytes: number;
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
export type WorkerMessage = ReadyMessage | LoadFailedMessage | CreditMessage | AnsweredMessage | FailedMessage;
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

export function alignedLength(bytes: number): number {
  return Math.ceil(bytes / frameAlignmentBytes) * frameAlignmentBytes;
}
