/** Frames of a WebSocket client and server, written and read by hand: the library that is tested has no part in it. */

export interface FrameShape {
  readonly isFinal?: boolean;
  /** The three reserved bits. */
  readonly reserved?: number;
  readonly isMasked?: boolean;
  /** Announces this length instead of the payload's. */
  readonly announcedBytes?: number;
}

const mask = Buffer.from([0x37, 0xfa, 0x21, 0x3d]);

export function clientFrame(opcode: number, payload: Uint8Array | string = '', shape: FrameShape = {}): Buffer {
  const { isFinal = true, reserved = 0, isMasked = true } = shape;
  const content = Buffer.from(payload as Uint8Array);
  const bytes = shape.announcedBytes ?? content.length;
  const head = [(isFinal ? 0x80 : 0) | (reserved << 4) | opcode];
  const maskBit = isMasked ? 0x80 : 0;
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(BigInt(bytes));
  if (bytes < 126) head.push(maskBit | bytes);
  else if (bytes < 65536) head.push(maskBit | 126, ...length.subarray(6));
  else head.push(maskBit | 127, ...length);
  if (isMasked)
    for (let at = 0; at < content.length; at++) content[at] = (content[at] as number) ^ (mask[at & 3] as number);
  return Buffer.concat([Buffer.from(head), isMasked ? mask : Buffer.alloc(0), content]);
}

export function clientClose(code: number, reason = ''): Buffer {
  const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
  payload.writeUInt16BE(code);
  payload.write(reason, 2);
  return clientFrame(8, payload);
}

export interface ServerFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Whole frames of a server; throws for a frame that no server may send. What is left is cut off. */
export function serverFrames(bytes: Buffer): ServerFrame[] {
  const frames: ServerFrame[] = [];
  let at = 0;
  while (at + 2 <= bytes.length) {
    const first = bytes[at] as number;
    const short = bytes[at + 1] as number;
    if ((first & 0xf0) !== 0x80 || short > 127) throw new Error(`bytes ${first} ${short} begin no frame of a server`);
    const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
    if (at + 2 + extra > bytes.length) break;
    const length =
      short === 126 ? bytes.readUInt16BE(at + 2) : short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short;
    const start = at + 2 + extra;
    if (start + length > bytes.length) break;
    frames.push({ opcode: first & 0x0f, payload: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return frames;
}

/** A frame as a test compares it: `text hello`, `binary 3`, `close 1000 reason`, `ping`, `pong data`. */
export function told({ opcode, payload }: ServerFrame): string {
  if (opcode === 1) return `text ${payload.toString()}`;
  if (opcode === 2) return `binary ${payload.length}`;
  if (opcode === 8)
    return payload.length === 0 ? 'close' : `close ${payload.readUInt16BE()} ${payload.toString('utf8', 2)}`;
  return `${opcode === 9 ? 'ping' : 'pong'} ${payload.toString()}`.trim();
}
