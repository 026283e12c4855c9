/** Frames made and read for tests, without the connection's own code: mistakes in one must not hide those in the other. */
import { clientPreface, frameFlag, frameType, readUint32BigEndian, writeFrameHeader } from '../frames.ts';

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  writeFrameHeader(bytes, 0, payload.length, type, flags, streamId);
  bytes.set(payload, 9);
  return bytes;
}

/** Whole frames; throws when the bytes end inside one. */
export function framesFrom(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (bytes.length - at < 9) throw new Error('the output ends inside a frame header');
    const length = bytes.readUIntBE(at, 3);
    if (bytes.length - at - 9 < length) throw new Error('the output ends inside a frame');
    frames.push({
      type: bytes[at + 3] as number,
      flags: bytes[at + 4] as number,
      streamId: readUint32BigEndian(bytes, at + 5),
      payload: bytes.subarray(at + 9, at + 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}

export type Fields = readonly (readonly [name: string, value: string])[];

/** A header block of literals that are not indexed: it can say anything, also what no client may. */
export function literalBlock(fields: Fields): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]));
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  const length: number[] = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest >>>= 7) length.push((rest & 127) | 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}

export const getFields: Fields = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'example'],
];

export const postFields: Fields = [[':method', 'POST'], ...getFields.slice(1)];

export function headers(streamId: number, fields: Fields, isEndStream: boolean): Buffer {
  const flags = frameFlag.endHeaders | (isEndStream ? frameFlag.endStream : 0);
  return frame(frameType.headers, flags, streamId, literalBlock(fields));
}

export function data(streamId: number, payload: Uint8Array | string, isEndStream: boolean): Buffer {
  const bytes = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  return frame(frameType.data, isEndStream ? frameFlag.endStream : 0, streamId, bytes);
}

export function settings(...pairs: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(pairs.length * 6);
  for (const [at, [id, value]] of pairs.entries()) {
    payload.writeUInt16BE(id, at * 6);
    payload.writeUInt32BE(value, at * 6 + 2);
  }
  return frame(frameType.settings, 0, 0, payload);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export const windowUpdate = (streamId: number, increment: number): Buffer =>
  frame(frameType.windowUpdate, 0, streamId, uint32(increment));

export const reset = (streamId: number, code = 8): Buffer => frame(frameType.rstStream, 0, streamId, uint32(code));

export const ping = (text = '12345678'): Buffer => frame(frameType.ping, 0, 0, Buffer.from(text));

/** What a client says first. */
export const hello = Buffer.concat([clientPreface, settings()]);
