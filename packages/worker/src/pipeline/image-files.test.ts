/** Picture files as callers may send them, valid or hostile: the pixels of each, or how it is refused. */
import { InferenceError } from '@millrace/protocol';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { pngFile } from '../testing/png-file.ts';
import { decodeImage, imagePixelsMax } from './decode-image.ts';
import type { DecodeOptions } from './pipeline-api.ts';

/** All pixels: red, green and blue, or grey alone. */
async function pixelsOf(bytes: Uint8Array, options: DecodeOptions = {}): Promise<number[]> {
  return [...(await decodeImage(bytes, { datatype: 'UINT8', layout: 'HWC', ...options }, 'the picture')).data];
}

const greyOf = (bytes: Uint8Array) => pixelsOf(bytes, { channels: 1 });

async function refusalOf(bytes: Uint8Array, options: DecodeOptions = {}): Promise<string> {
  const error = await decodeImage(bytes, options, "input 'photo'").catch((thrown: unknown) => thrown);
  if (!(error instanceof InferenceError)) throw new Error(`not refused: ${String(error)}`);
  expect(error.code).toBe('invalid-request');
  expect(error.message).not.toMatch(/\n/);
  return error.message;
}

const plain = (width: number, height: number, background: string) =>
  sharp({ create: { width, height, channels: 3, background } });
/** With enough detail that a truncated file is not complete. */
const photo = () =>
  sharp(
    Uint8Array.from({ length: 64 * 64 * 3 }, (_, index) => (index * 97) % 251),
    { raw: { width: 64, height: 64, channels: 3 } },
  );

describe('unusual files are decoded correctly', () => {
  test('one pixel, unchanged and enlarged', async () => {
    const one = await plain(1, 1, '#102030').png().toBuffer();
    expect(await pixelsOf(one)).toEqual([16, 32, 48]);
    expect(await pixelsOf(one, { width: 2, height: 1 })).toEqual([16, 32, 48, 16, 32, 48]);
  });

  test.each([
    ['#ff0000', [232, 0, 0]],
    ['#ffffff', [255, 255, 255]],
    ['#000000', [10, 5, 0]],
  ])('a CMYK JPEG, %s', async (background, expected) => {
    const jpeg = await plain(8, 8, background).toColourspace('cmyk').jpeg({ quality: 95 }).toBuffer();
    expect(await sharp(jpeg).metadata()).toMatchObject({ space: 'cmyk', channels: 4 });
    const [red, green, blue] = (await pixelsOf(jpeg)) as [number, number, number];
    // CMYK has a smaller gamut than a screen; inverted, white would be black.
    for (const [index, value] of [red, green, blue].entries()) {
      expect(Math.abs(value - (expected[index] as number))).toBeLessThan(8);
    }
  });

  /** Pixels of a picture two wide and three high, numbered by tens, for each EXIF orientation. */
  test.each([
    [1, [3, 2], [0, 10, 20, 30, 40, 50]],
    [2, [3, 2], [10, 0, 30, 20, 50, 40]],
    [3, [3, 2], [50, 40, 30, 20, 10, 0]],
    [4, [3, 2], [40, 50, 20, 30, 0, 10]],
    [5, [2, 3], [0, 20, 40, 10, 30, 50]],
    [6, [2, 3], [40, 20, 0, 50, 30, 10]],
    [7, [2, 3], [50, 30, 10, 40, 20, 0]],
    [8, [2, 3], [10, 30, 50, 0, 20, 40]],
  ])('EXIF orientation %i', async (orientation, size, expected) => {
    const raw = { width: 2, height: 3, channels: 1 } as const;
    const bytes = await sharp(Uint8Array.of(0, 10, 20, 30, 40, 50), { raw })
      .withMetadata({ orientation })
      .png()
      .toBuffer();
    const turned = await decodeImage(bytes, { channels: 1, datatype: 'UINT8' }, '');
    expect(turned.shape).toEqual([1, ...size]);
    expect([...turned.data]).toEqual(expected);
  });

  test('16 bits a sample become 8, not the lower 8', async () => {
    const samples = [0, 0, 0x80, 0, 0xff, 0xff, 0x01, 0x01];
    const grey = pngFile({ width: 4, height: 1, colours: 'grey', bitDepth: 16, rows: [samples] });
    expect(await greyOf(grey)).toEqual([0, 128, 255, 1]);
    expect(await pixelsOf(grey)).toEqual([0, 0, 0, 128, 128, 128, 255, 255, 255, 1, 1, 1]);
    const rgb = pngFile({ width: 1, height: 1, colours: 'rgb', bitDepth: 16, rows: [[0xff, 0xff, 0x80, 0, 0, 1]] });
    expect(await pixelsOf(rgb)).toEqual([255, 128, 0]);
  });

  test.each([
    [8, [200, 255, 200, 0, 200, 128]],
    [16, [200, 200, 255, 255, 200, 200, 0, 0, 200, 200, 128, 128]],
  ] as const)('grey with alpha of %i bits has a black background', async (bitDepth, row) => {
    const bytes = pngFile({ width: 3, height: 1, colours: 'greyAlpha', bitDepth, rows: [row] });
    const isHalf = (value: number) => value === 100 || value === 101;
    const [opaque, clear, half] = (await greyOf(bytes)) as [number, number, number];
    expect([opaque, clear, isHalf(half)]).toEqual([200, 0, true]);
    const pixels = await pixelsOf(bytes);
    expect(pixels.slice(0, 6)).toEqual([200, 200, 200, 0, 0, 0]);
    expect(pixels.slice(6).map(isHalf)).toEqual([true, true, true]);
  });

  test.each([
    [1, [0b01000000]],
    [2, [0b00010000]],
    [4, [0x01]],
    [8, [0, 1]],
  ] as const)('a palette of %i bits, one entry of it transparent', async (bitDepth, row) => {
    const palette = [255, 0, 0, 0, 0, 255];
    const image = { width: 2, height: 1, colours: 'palette', bitDepth, rows: [row], palette } as const;
    expect(await pixelsOf(pngFile(image))).toEqual(palette);
    expect(await pixelsOf(pngFile({ ...image, transparency: [255, 0] }))).toEqual([255, 0, 0, 0, 0, 0]);
  });

  test.each(['gif', 'webp'] as const)('the first picture of an animated %s', async (format) => {
    const frames = await Promise.all(['#f00', '#00f', '#0f0'].map((colour) => plain(4, 4, colour).png().toBuffer()));
    const options = format === 'webp' ? { lossless: true } : {};
    const bytes = await sharp(frames, { join: { animated: true } })
      .toFormat(format, options)
      .toBuffer();
    expect((await sharp(bytes).metadata()).pages).toBe(3);
    const { shape, data } = await decodeImage(bytes, { datatype: 'UINT8', layout: 'HWC' }, '');
    expect(shape).toEqual([4, 4, 3]);
    expect([...data]).toEqual(Array.from({ length: 16 }, () => [255, 0, 0]).flat());
  });
});

const formats = ['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif'] as const;

describe('a file that is no complete picture is refused with the name of its input', () => {
  test.each(formats)('a %s truncated at any position', async (format) => {
    const bytes = await photo().toFormat(format).toBuffer();
    expect(await pixelsOf(bytes)).toHaveLength(64 * 64 * 3);
    for (const share of [0.05, 0.2, 0.4, 0.6, 0.8]) {
      const cut = bytes.subarray(0, Math.floor(bytes.length * share));
      expect(await refusalOf(cut)).toMatch(/^input 'photo' cannot be decoded: \S/);
    }
  });

  test.each(formats)('a %s that begins with other bytes', async (format) => {
    const bytes = Buffer.from(await photo().toFormat(format).toBuffer());
    for (let index = 0; index < 12; index++) bytes[index] = ~(bytes[index] as number);
    expect(await refusalOf(bytes)).toBe(
      "input 'photo' cannot be decoded: it is not a JPEG, PNG, WebP, GIF, AVIF or TIFF file",
    );
  });

  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><image href="file:///etc/passwd"/></svg>';
  test.each([
    ['SVG', svg],
    ['SVG behind a declaration', `<?xml version="1.0"?>\n${svg}`],
    ['PDF', '%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>'],
    ['BMP', `BM${'\0'.repeat(60)}`],
    ['PPM', 'P3 1 1 255 9 9 9'],
    ['Radiance', '#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n0000'],
    ['JPEG 2000', '\0\0\0\x0cjP  \r\n\x87\n'],
    ['vips', `\x08\xf2\xa6\xb6${'\0'.repeat(60)}`],
    ['text', 'a picture of a cat'],
    ['one byte', '\xff'],
  ])('%s', async (_, text) => {
    const answer = await refusalOf(Buffer.from(text, 'latin1'));
    expect(answer).toBe("input 'photo' cannot be decoded: it is not a JPEG, PNG, WebP, GIF, AVIF or TIFF file");
  });

  test('an empty file', async () => {
    expect(await refusalOf(new Uint8Array(0))).toBe(
      "input 'photo' is empty; send a JPEG, PNG, WebP, GIF, AVIF or TIFF file",
    );
  });
});

describe('a small file that claims to be a huge picture is refused by its header', () => {
  /** Without any of the declared rows: decoding would fail because of that. */
  const png = pngFile({ width: 50_000, height: 50_000, colours: 'rgb', bitDepth: 8, rows: [] });

  /** A copy with the bytes at `offset` after `mark` replaced. */
  function patched(bytes: Buffer, mark: readonly number[], offset: number, values: readonly number[]): Buffer {
    const at = bytes.indexOf(Buffer.from(mark));
    expect(at).toBeGreaterThanOrEqual(0);
    const copy = Buffer.from(bytes);
    copy.set(values, at + offset);
    return copy;
  }

  test.each([
    ['PNG', async () => png],
    // The frame header: length, precision, height, width.
    ['JPEG', async () => patched(await photo().jpeg().toBuffer(), [0xff, 0xc0], 5, [0xff, 0xdc, 0xff, 0xdc])],
    // The key frame's start code, then 14 bits of each size.
    ['WebP', async () => patched(await photo().webp().toBuffer(), [0x9d, 0x01, 0x2a], 3, [0xff, 0x3f, 0xff, 0x3f])],
    // The frame's descriptor: position, then size.
    [
      'GIF',
      async () =>
        patched(await photo().gif().toBuffer(), [0x2c, 0, 0, 0, 0, 64, 0, 64, 0], 5, [0xff, 0xff, 0xff, 0xff]),
    ],
    // The item's spatial extents, of 4 bytes each.
    [
      'AVIF',
      async () => patched(await photo().avif().toBuffer(), [0x69, 0x73, 0x70, 0x65], 8, [0, 0, 0x70, 0, 0, 0, 0x70, 0]),
    ],
  ])('%s', async (_, file) => {
    expect(await refusalOf(await file())).toBe(
      `input 'photo' cannot be decoded: it has more than ${imagePixelsMax} pixels (imagePixelsMax)`,
    );
  });

  test('a picture that would become huge by resizing to one given size is refused', async () => {
    const tall = await plain(1, 500, '#fff').png().toBuffer();
    const limit = `more than ${imagePixelsMax} (imagePixelsMax)`;
    expect(await refusalOf(tall, { width: 4000 })).toBe(
      `input 'photo' cannot be decoded: 4000 pixels wide it would be 2000000 high, 8000000000 pixels and ${limit}`,
    );
    const turned = await sharp(tall).withMetadata({ orientation: 6 }).png().toBuffer();
    expect(await refusalOf(turned, { height: 4000 })).toBe(
      `input 'photo' cannot be decoded: 4000 pixels high it would be 2000000 wide, 8000000000 pixels and ${limit}`,
    );
    expect(await pixelsOf(tall, { width: 2 })).toHaveLength(2 * 1000 * 3);
    expect(await pixelsOf(tall, { height: 100 })).toHaveLength(100 * 3);
  });
});
