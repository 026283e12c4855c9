import type { SliceGenerator } from './slice-queue.ts';

/** Bytes that are copied between two pauses. */
const copiedBytes = 1024 * 1024;

/** Joins the pieces; each is released once it is copied, so that not both are held to the end. */
export function* joinPieces(pieces: (Uint8Array | undefined)[]): SliceGenerator<Uint8Array> {
  if (pieces.length === 1) return pieces[0] as Uint8Array;
  let bytes = 0;
  for (const piece of pieces) bytes += piece?.byteLength ?? 0;
  const whole = Buffer.allocUnsafeSlow(bytes);
  let offset = 0;
  let copied = 0;
  for (const [index, piece] of pieces.entries()) {
    if (piece === undefined) continue;
    whole.set(piece, offset);
    offset += piece.byteLength;
    copied += piece.byteLength;
    pieces[index] = undefined;
    // Even the smallest piece costs some time.
    copied += 64;
    if (copied < copiedBytes) continue;
    copied = 0;
    yield;
  }
  return whole;
}
