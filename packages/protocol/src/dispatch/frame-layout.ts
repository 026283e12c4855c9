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
 * Fields by kind, in order (`text` is UTF-8, filled up to a multiple of 8):
 *
 *     1 hello        u32 magic, u32 version, u64 bytes to the worker, u64 bytes to the router, u64 longest frame
 *     2 load         u32 0, u32 length, text: the LoadSpec as JSON
 *     3 unload       u32 model, u32 0
 *     4 dispatch     u64 batch, u32 model, u32 number of outputs, u64 region offset, u64 region length,
 *                    u32 for each output, filled up; tensors
 *     5 cancel       u64 batch
 *     6 release      u32 number, u32 0, u64 region offset for each
 *     7 stop
 *     8 ready        u32 model, u32 0, f64 milliseconds, u64 resident bytes
 *     9 load-failed  u32 model, u32 length, text
 *    10 credit       u32 batches, u32 0
 *    11 answered     u64 batch, f64 microseconds, u64 region offset, u64 region length; tensors
 *    12 failed       u64 batch, u32 code, u32 length, text
 *    13 call         u64 call, u64 batch, f64 milliseconds, u64 region offset, u64 region length, u32 0, u32 length,
 *                    text: model, version, names and datatypes as JSON; tensors, each with its place as index
 *    14 call-answered   u64 call, u64 batch, u64 region offset, u64 region length, u32 0, u32 length, text: names and
 *                    datatypes as JSON; tensors
 *    15 call-failed  u64 call, f64 milliseconds until another attempt or -1, u32 code, u32 length, text
 *    16 call-cancelled  u64 call, u64 batch
 *    17 load-refused  as load-failed: another attempt with the same files must fail as well
 *    a tensor        u32 index, u32 rank, u64 data offset, u64 data length, u64 for each dimension; the data of all
 *                    tensors follows the last of these. Offsets count from the frame, or from the region if shared.
 *
 * The first frame each way is `hello`. A tensor in the frame begins at a multiple of 8 from the frame's start, so that a
 * typed array can be laid over it. Integers of 64 bits stay below 2^53. A code is its place in the error catalogue.
 */
import { type ErrorCode, errorCatalogue } from '../errors.ts';
import type {
  AnsweredMessage,
  CallCancelledMessage,
  CallMessage,
  CreditMessage,
  FailedMessage,
  LoadFailedMessage,
  ReadyMessage,
  Region,
  ToWorker,
} from './messages.ts';

export const frameVersion = 3;
/** "MILL", read as bytes. */
export const frameMagic = 0x4c_4c_49_4d;
export const frameHeaderBytes = 8;
export const frameAlignmentBytes = 8;
/** The longest frame a link takes unless told otherwise; a batch that does not fit is refused, never split. */
export const frameBytesMaxDefault = 2 ** 30;
/** Only a frame with tensors or a model's configuration can be longer than this; the others always fit. */
export const frameBytesMaxLeast = 16_384;
/** A failure told at greater length is cut off there. */
export const textBytesMax = 8192;
/** More released outputs than this take another frame. */
export const releaseOffsetsMax = 1024;

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
} as const;

export const failureCodes = Object.keys(errorCatalogue) as readonly ErrorCode[];

export const placementInFrame = 0;
export const placementShared = 1;

/** Says what is spoken and how much shared memory there is each way; the worker answers with what it could map. */
export interface HelloFrame {
  readonly kind: 'hello';
  /** From the mapping's start: what the router writes and the worker reads. */
  readonly toWorkerBytes: number;
  /** Behind it: what the worker writes and the router reads. */
  readonly toRouterBytes: number;
  /** The longest frame the sender of this one will take. */
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

export function alignedLength(bytes: number): number {
  return Math.ceil(bytes / frameAlignmentBytes) * frameAlignmentBytes;
}
