import { InferenceError } from '@millrace/protocol';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { decodeImage, imageBytesMax, imagePixelsMax } from './decode-image.ts';

/** Two pixels wide, one high: red, then blue. */
const redBlue = () =>
  sharp(Uint8Array.of(255, 0, 0, 0, 0, 255), { raw: { width: 2, height: 1, channels: 3 } })
    .png()
    .toBuffer();

async function refusalOf(bytes: Uint8Array): Promise<InferenceError> {
  const error = await decodeImage(bytes, {}, "input 'photo'").catch((thrown: unknown) => thrown);
  if (!(error instanceof InferenceError)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

describe('decodeImage', () => {
  test('returns planes or pixels, from 0 to 1 by default', async () => {
    const png = await redBlue();
    const planes = await decodeImage(png, {}, '');
    expect(planes).toMatchObject({ datatype: 'FP32', shape: [3, 1, 2] });
    expect([...planes.data]).toEqual([1, 0, 0, 0, 0, 1]);
    const pixels = await decodeImage(png, { layout: 'HWC', datatype: 'UINT8' }, '');
    expect(pixels).toMatchObject({ datatype: 'UINT8', shape: [1, 2, 3] });
    expect([...pixels.data]).toEqual([255, 0, 0, 0, 0, 255]);
  });

  test('scales, centres and divides each channel', async () => {
    const { data } = await decodeImage(await redBlue(), { scale: 1, mean: [5, 0, 55], std: [10, 1, 100] }, '');
    expect([...data]).toEqual([25, -0.5, 0, 0, -0.550000011920929, 2]);
  });

  test.each(['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif'] as const)('reads %s', async (format) => {
    const bytes = await sharp({ create: { width: 16, height: 8, channels: 3, background: '#fff' } })
      .toFormat(format)
      .toBuffer();
    const { shape, data } = await decodeImage(bytes, { width: 4, height: 4 }, '');
    expect(shape).toEqual([3, 4, 4]);
    for (const value of data) expect(value).toBeGreaterThan(0.95);
  });

  test('a grey picture has one channel or three, as requested, and transparent pixels are black', async () => {
    const grey = await sharp(Uint8Array.of(0, 128), { raw: { width: 2, height: 1, channels: 1 } })
      .png()
      .toBuffer();
    expect([...(await decodeImage(grey, { channels: 1, datatype: 'UINT8' }, '')).data]).toEqual([0, 128]);
    expect((await decodeImage(grey, { datatype: 'UINT8' }, '')).shape).toEqual([3, 1, 2]);
    const clear = await sharp({ create: { width: 1, height: 1, channels: 4, background: '#ffffff00' } })
      .png()
      .toBuffer();
    expect([...(await decodeImage(clear, { datatype: 'UINT8' }, '')).data]).toEqual([0, 0, 0]);
  });

  test('contain pads with black, cover crops', async () => {
    const wide = await sharp({ create: { width: 40, height: 10, channels: 3, background: '#fff' } })
      .png()
      .toBuffer();
    const sum = async (fit: 'contain' | 'cover') => {
      const { data } = await decodeImage(wide, { width: 8, height: 8, fit, channels: 1 }, '');
      return [...data].reduce((total, value) => total + value, 0);
    };
    expect(await sum('cover')).toBeCloseTo(64, 1);
    expect(await sum('contain')).toBeCloseTo(16, 1);
  });

  test('a file that is broken, truncated, empty or no picture is refused with the name of its input', async () => {
    const jpeg = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#abc' } })
      .jpeg()
      .toBuffer();
    for (const bytes of [
      new Uint8Array(0),
      new TextEncoder().encode('hello'),
      jpeg.subarray(0, jpeg.length / 2),
      new TextEncoder().encode('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
    ]) {
      const error = await refusalOf(bytes);
      expect(error.code).toBe('invalid-request');
      expect(error.message).toMatch(/^input 'photo' (is empty|cannot be decoded: )/);
      expect(error.message).not.toMatch(/\n/);
    }
  });

  test('too many bytes or pixels are refused with the limit', async () => {
    expect((await refusalOf(new Uint8Array(imageBytesMax + 1))).message).toMatch(`more than ${imageBytesMax}`);
    const side = Math.sqrt(imagePixelsMax);
    const vast = await sharp({ create: { width: side + 1, height: side, channels: 3, background: '#000' } })
      .png({ compressionLevel: 9 })
      .toBuffer();
    expect((await refusalOf(vast)).message).toMatch(`it has more than ${imagePixelsMax} pixels`);
    await expect(decodeImage(await redBlue(), { width: side + 1, height: side }, '')).rejects.toThrow(/more than/);
  });

  test.each([
    [{ width: 0 }, /width is 0; it must be a whole number, at least 1/],
    [{ channels: 2 as 1 }, /channels must be 1 or 3/],
    [{ datatype: 'UINT8' as const, scale: 2 }, /need the datatype FP32/],
    [{ mean: [1, 2] }, /mean has 2 numbers for 3 channels/],
  ])('invalid options are reported as an error of the pipeline: %j', async (options, message) => {
    await expect(decodeImage(await redBlue(), options, '')).rejects.toThrow(message);
  });
});
