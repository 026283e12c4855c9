/** The frames a connection sends about itself. */
import type { HttpLimits } from '../wire/config.ts';
import type { Output } from '../wire/output.ts';
import {
  frameFlag,
  frameHeaderBytes,
  frameType,
  settingId,
  windowBytesDefault,
  writeFrameHeader,
  writeUint32,
} from './frames.ts';

export function sendSettings(output: Output, limits: HttpLimits): void {
  const settings: [number, number][] = [
    [settingId.maxConcurrentStreams, limits.streamsMax],
    [settingId.initialWindowSize, limits.streamWindowBytes],
    [settingId.maxFrameSize, limits.frameBytesMax],
    [settingId.maxHeaderListSize, limits.headerListBytesMax],
  ];
  const offset = output.reserve(frameHeaderBytes + settings.length * 6);
  writeFrameHeader(output.bytes, offset, settings.length * 6, frameType.settings, 0, 0);
  let at = offset + frameHeaderBytes;
  for (const [id, value] of settings) {
    output.bytes[at] = id >>> 8;
    output.bytes[at + 1] = id;
    writeUint32(output.bytes, at + 2, value);
    at += 6;
  }
  const more = limits.connectionWindowBytes - windowBytesDefault;
  if (more > 0) sendWindowUpdate(output, 0, more);
}

export function sendSettingsAck(output: Output): void {
  const offset = output.reserve(frameHeaderBytes);
  writeFrameHeader(output.bytes, offset, 0, frameType.settings, frameFlag.ack, 0);
}

/** A ping or the answer to one, with eight bytes from `payload[start]` on. */
export function sendPing(output: Output, isAck: boolean, payload: Uint8Array, start: number): void {
  const offset = output.reserve(frameHeaderBytes + 8);
  writeFrameHeader(output.bytes, offset, 8, frameType.ping, isAck ? frameFlag.ack : 0, 0);
  for (let at = 0; at < 8; at++) output.bytes[offset + frameHeaderBytes + at] = payload[start + at] as number;
}

export function sendGoaway(output: Output, lastStreamId: number, code: number, debug: string): void {
  const length = 8 + debug.length;
  const offset = output.reserve(frameHeaderBytes + length);
  writeFrameHeader(output.bytes, offset, length, frameType.goaway, 0, 0);
  writeUint32(output.bytes, offset + frameHeaderBytes, lastStreamId);
  writeUint32(output.bytes, offset + frameHeaderBytes + 4, code);
  output.bytes.write(debug, offset + frameHeaderBytes + 8, 'latin1');
}

export function sendReset(output: Output, streamId: number, code: number): void {
  const offset = output.reserve(frameHeaderBytes + 4);
  writeFrameHeader(output.bytes, offset, 4, frameType.rstStream, 0, streamId);
  writeUint32(output.bytes, offset + frameHeaderBytes, code);
}

export function sendWindowUpdate(output: Output, streamId: number, bytes: number): void {
  const offset = output.reserve(frameHeaderBytes + 4);
  writeFrameHeader(output.bytes, offset, 4, frameType.windowUpdate, 0, streamId);
  writeUint32(output.bytes, offset + frameHeaderBytes, bytes);
}
