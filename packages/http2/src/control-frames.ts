/** The frames a connection sends about itself. */
import {
  frameFlag,
  frameType,
  http2FrameHeaderBytes,
  windowBytesDefault,
  writeFrameHeader,
  writeUint32BigEndian,
} from './frames.ts';

/** Where frames are written: `reserve` gives the offset in `bytes` of so many that follow what was written before. */
export interface FrameOutput {
  readonly bytes: Buffer;
  reserve(count: number): number;
}

/** The first SETTINGS of a connection, and what its window has beyond the default. */
export function sendSettings(
  output: FrameOutput,
  settings: readonly (readonly [id: number, value: number])[],
  connectionWindowBytes: number,
): void {
  const offset = output.reserve(http2FrameHeaderBytes + settings.length * 6);
  writeFrameHeader(output.bytes, offset, settings.length * 6, frameType.settings, 0, 0);
  let at = offset + http2FrameHeaderBytes;
  for (const [id, value] of settings) {
    output.bytes[at] = id >>> 8;
    output.bytes[at + 1] = id;
    writeUint32BigEndian(output.bytes, at + 2, value);
    at += 6;
  }
  const more = connectionWindowBytes - windowBytesDefault;
  if (more > 0) sendWindowUpdate(output, 0, more);
}

export function sendSettingsAck(output: FrameOutput): void {
  const offset = output.reserve(http2FrameHeaderBytes);
  writeFrameHeader(output.bytes, offset, 0, frameType.settings, frameFlag.ack, 0);
}

/** A ping or the answer to one, with eight bytes from `payload[start]` on. */
export function sendPing(output: FrameOutput, isAck: boolean, payload: Uint8Array, start: number): void {
  const offset = output.reserve(http2FrameHeaderBytes + 8);
  writeFrameHeader(output.bytes, offset, 8, frameType.ping, isAck ? frameFlag.ack : 0, 0);
  for (let at = 0; at < 8; at++) output.bytes[offset + http2FrameHeaderBytes + at] = payload[start + at] as number;
}

export function sendGoaway(output: FrameOutput, lastStreamId: number, code: number, debug: string): void {
  const length = 8 + debug.length;
  const offset = output.reserve(http2FrameHeaderBytes + length);
  writeFrameHeader(output.bytes, offset, length, frameType.goaway, 0, 0);
  writeUint32BigEndian(output.bytes, offset + http2FrameHeaderBytes, lastStreamId);
  writeUint32BigEndian(output.bytes, offset + http2FrameHeaderBytes + 4, code);
  output.bytes.write(debug, offset + http2FrameHeaderBytes + 8, 'latin1');
}

export function sendReset(output: FrameOutput, streamId: number, code: number): void {
  const offset = output.reserve(http2FrameHeaderBytes + 4);
  writeFrameHeader(output.bytes, offset, 4, frameType.rstStream, 0, streamId);
  writeUint32BigEndian(output.bytes, offset + http2FrameHeaderBytes, code);
}

export function sendWindowUpdate(output: FrameOutput, streamId: number, bytes: number): void {
  const offset = output.reserve(http2FrameHeaderBytes + 4);
  writeFrameHeader(output.bytes, offset, 4, frameType.windowUpdate, 0, streamId);
  writeUint32BigEndian(output.bytes, offset + http2FrameHeaderBytes, bytes);
}
