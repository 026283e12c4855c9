/**
 * Bodies of many DATA frames, read at once to where they are gathered. Clients send a large message in frames of the same
 * length; where the next ones are not, what was read is sorted again.
 */
import { http2FrameHeaderBytes } from '@millrace/http2';
import type { LentBody, ReadTarget } from '../wire/body-pool.ts';

/** Shorter frames are copied out of what is read: each has a head that has to be read in any case. */
export const expectedFrameBytesMin = 8 * 1024;
/** So much has to be sorted again at most, once for each body. */
const framedBytesMax = 256 * 1024;

/** A target whose bytes are in frames: the first has so many left, the others are as long as `frameBytes`. */
export function expectingFrames({ bytes, lent }: ReadTarget, leftBytes: number, frameBytes: number): ReadTarget {
  const frames = { firstBytes: leftBytes, nextBytes: frameBytes, headBytes: http2FrameHeaderBytes };
  return { bytes: bytes.length <= framedBytesMax ? bytes : bytes.subarray(0, framedBytesMax), lent, frames };
}

/** What reads the frames. */
export interface FramedReader {
  /** Data of the current frame is where it belongs. */
  readWritten(target: ReadTarget, bytes: number): void;
  /** The head of a frame. False: what follows has to be read like anything else. */
  readHead(head: Buffer): boolean;
  /** What is left of the data of the current frame; 0 if that is not known, or is skipped. */
  readonly dataLeftBytes: number;
  /** Where in this memory the data of the current frame belongs; -1: elsewhere. */
  offsetIn(lent: LentBody): number;
}

/**
 * Has the frames of a read taken one by one. Returns what is left when they are not as expected, in memory of its own; the
 * target then keeps nothing of it.
 */
export function readFrames(reader: FramedReader, target: ReadTarget, heads: Buffer, count: number): Buffer | undefined {
  const { bytes, lent, frames } = target;
  if (frames === undefined) return undefined;
  const { nextBytes, headBytes } = frames;
  const offset = bytes.byteOffset - lent.bytes.byteOffset;
  let left = count;
  let at = 0;
  let headAt = 0;
  let frameBytes = Math.min(frames.firstBytes, bytes.length);
  for (;;) {
    const taken = Math.min(left, frameBytes);
    reader.readWritten(target, taken);
    at += taken;
    left -= taken;
    if (left === 0) return undefined;
    const headTaken = Math.min(left, headBytes);
    const isRead = reader.readHead(heads.subarray(headAt, headAt + headTaken));
    headAt += headTaken;
    left -= headTaken;
    if (left === 0) return undefined;
    frameBytes = Math.min(nextBytes, bytes.length - at);
    // What is behind the last frame that fits is not read: that may be longer.
    const isLong = frameBytes < nextBytes && reader.dataLeftBytes > frameBytes;
    const isExpected = reader.dataLeftBytes === frameBytes || isLong;
    if (!isRead || !isExpected || reader.offsetIn(lent) !== offset + at) {
      return takeRest(bytes, at, nextBytes, heads, headAt, headBytes, left);
    }
  }
}

/** What was read behind `at`, in the order it came. */
function takeRest(
  bytes: Buffer,
  from: number,
  nextBytes: number,
  heads: Buffer,
  headsFrom: number,
  headBytes: number,
  count: number,
): Buffer {
  const rest = Buffer.allocUnsafeSlow(count);
  let filled = 0;
  let at = from;
  let headAt = headsFrom;
  while (filled < count) {
    const inFrame = Math.min(nextBytes, count - filled, bytes.length - at);
    filled += bytes.copy(rest, filled, at, at + inFrame);
    at += inFrame;
    const ofHead = Math.min(headBytes, count - filled);
    filled += heads.copy(rest, filled, headAt, headAt + ofHead);
    headAt += ofHead;
  }
  bytes.fill(0, from, at);
  return rest;
}
