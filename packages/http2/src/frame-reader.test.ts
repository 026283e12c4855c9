import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FrameSink, Http2FrameReader } from './frame-reader.ts';
import { frameFlag, frameType } from './frames.ts';
import { frame } from './testing/frame-tools.ts';

/** Writes down what the reader tells, data joined, so that two ways of cutting can be compared. */
class Scribe implements FrameSink {
  isStopped: boolean = false;
  isTurnOver: boolean = false;
  readonly said: string[] = [];
  #data = '';

  onFrameBegin(type: number, flags: number, streamId: number, length: number): boolean {
    this.said.push(`begin ${type} ${flags} ${streamId} ${length}`);
    // Some streams are not wanted, to see their frames skipped.
    return streamId !== 7;
  }
  onFrame(type: number, _flags: number, _streamId: number, bytes: Buffer, start: number, end: number): void {
    this.said.push(`frame ${type} ${bytes.toString('latin1', start, end)}`);
  }
  onDataBegin(dataBytes: number): void {
    this.#data = '';
    this.said.push(`data ${dataBytes}`);
  }
  onDataPiece(piece: Buffer): void {
    this.#data += piece.toString('latin1');
  }
  onDataEnd(): void {
    this.said.push(`end ${this.#data}`);
  }
  onBadPadding(): void {
    this.said.push('bad padding');
    this.isStopped = true;
  }
}

function read(chunks: readonly Buffer[]): string[] {
  const scribe = new Scribe();
  const reader = new Http2FrameReader(scribe);
  for (const chunk of chunks) reader.read(chunk, 0);
  return scribe.said;
}

test('frames read the same however their bytes are split', () => {
  const anyFrame = fc
    .tuple(
      fc.constantFrom(frameType.data, frameType.data, frameType.headers, frameType.ping, 77),
      fc.constantFrom(0, frameFlag.padded, 0xff),
      fc.constantFrom(0, 1, 7),
      fc.uint8Array({ maxLength: 40 }),
    )
    .map(([type, flags, streamId, payload]) => frame(type, flags, streamId, payload));
  fc.assert(
    fc.property(fc.array(anyFrame, { maxLength: 6 }), fc.array(fc.integer({ min: 1, max: 20 })), (frames, cuts) => {
      const bytes = Buffer.concat(frames);
      const chunks: Buffer[] = [];
      let at = 0;
      for (const cut of cuts) {
        chunks.push(bytes.subarray(at, at + cut));
        at += cut;
      }
      chunks.push(bytes.subarray(at));
      expect(read(chunks)).toEqual(read([bytes]));
    }),
    { seed: 9113, numRuns: 500 },
  );
});

test('padding is distinguished from data, and padding that does not fit is detected', () => {
  const padded = (payload: string) => frame(frameType.data, frameFlag.padded, 1, Buffer.from(payload, 'latin1'));
  expect(read([padded('\x02abc\0\0')])).toEqual(['begin 0 8 1 6', 'data 3', 'end abc']);
  expect(read([padded('\x05\0\0\0\0\0')])).toEqual(['begin 0 8 1 6', 'data 0', 'end ']);
  expect(read([padded('\x06\0\0\0\0\0')])).toEqual(['begin 0 8 1 6', 'bad padding']);
  expect(read([padded('')])).toEqual(['begin 0 8 1 0', 'bad padding']);
});

test('data is passed on as it arrives, without waiting for its frame', () => {
  const pieces: number[] = [];
  const scribe = new Scribe();
  scribe.onDataPiece = (piece) => pieces.push(piece.length);
  const reader = new Http2FrameReader(scribe);
  const bytes = frame(frameType.data, 0, 1, Buffer.alloc(1000));
  reader.read(bytes.subarray(0, 509), 0);
  expect(pieces).toEqual([500]);
  expect(reader.isInFrame).toBe(true);
  reader.read(bytes.subarray(509), 0);
  expect(pieces).toEqual([500, 500]);
  expect(reader.isInFrame).toBe(false);
});
