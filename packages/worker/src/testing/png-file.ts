/** Writes PNG files that encoders would not: every colour type and depth, and headers with wrong sizes. */
import { crc32, deflateSync } from 'node:zlib';

export const pngColours = { grey: 0, rgb: 2, palette: 3, greyAlpha: 4, rgbAlpha: 6 } as const;

export interface PngFile {
  readonly width: number;
  readonly height: number;
  readonly colours: keyof typeof pngColours;
  readonly bitDepth: 1 | 2 | 4 | 8 | 16;
  /** The bytes of each row, packed as in the format; 16-bit samples with the high byte first. */
  readonly rows: readonly (readonly number[])[];
  /** Red, green and blue of each entry. */
  readonly palette?: readonly number[];
  /** The alpha of each entry of the palette. */
  readonly transparency?: readonly number[];
}

export function pngFile({ width, height, colours, bitDepth, rows, palette, transparency }: PngFile): Uint8Array {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([bitDepth, pngColours[colours], 0, 0, 0], 8);
  // Each row begins with the number of its filter: none.
  const data = deflateSync(Buffer.from(rows.flatMap((row) => [0, ...row])));
  return Buffer.concat([
    Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a),
    chunk('IHDR', header),
    ...(palette === undefined ? [] : [chunk('PLTE', Buffer.from(palette))]),
    ...(transparency === undefined ? [] : [chunk('tRNS', Buffer.from(transparency))]),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(4);
  frame.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([frame, body, check]);
}
