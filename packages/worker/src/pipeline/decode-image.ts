/** Decodes pictures to tensors. */
import { InferenceError } from '@millrace/protocol';
import type { Sharp } from 'sharp';
import type { DecodeOptions, PipelineTensor } from './pipeline-api.ts';

/** A larger file is refused before it is read. */
export const imageBytesMax = 64 * 1024 * 1024;
/** A picture that would be larger, decoded or resized, is refused before memory is allocated for it. */
export const imagePixelsMax = 2 ** 26;

const readers = ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif', 'Tiff'].map((name) => `VipsForeignLoad${name}`);

let loading: Promise<typeof import('sharp').default> | undefined;

/** Only a pipeline that may get pictures loads the library: it takes 20 ms and 20 MB. */
export function loadSharp(): Promise<typeof import('sharp').default> {
  loading ??= import('sharp').then(({ default: sharp }) => {
    // Formats that can refer to other files, or contain programs, are never read.
    sharp.block({ operation: ['VipsForeignLoad'] });
    sharp.unblock({ operation: readers });
    sharp.cache(false);
    return sharp;
  });
  return loading;
}

/** `what` names the picture in errors. Rejects with `invalid-request` where the picture is invalid. */
export async function decodeImage(
  bytes: Uint8Array,
  options: DecodeOptions,
  what: string,
): Promise<PipelineTensor<'FP32' | 'UINT8'>> {
  const { layout = 'CHW', channels = 3, datatype = 'FP32' } = options;
  checkOptions(options);
  if (!(bytes instanceof Uint8Array)) throw new TypeError('a picture must be given as bytes (Uint8Array)');
  if (bytes.length > imageBytesMax) {
    throw refusal(`${what} has ${bytes.length} bytes, more than ${imageBytesMax} (imageBytesMax); send a smaller file`);
  }
  if (bytes.length === 0) throw refusal(`${what} is empty; send a JPEG, PNG, WebP, GIF, AVIF or TIFF file`);
  const sharp = await loadSharp();
  let pixels: Buffer;
  let width: number;
  let height: number;
  try {
    const image = sharp(bytes, { limitInputPixels: imagePixelsMax, failOn: 'error' });
    if ((options.width === undefined) !== (options.height === undefined)) await checkOtherSize(image, options);
    const decoded = await prepare(image, options).raw().toBuffer({ resolveWithObject: true });
    pixels = decoded.data;
    ({ width, height } = decoded.info);
  } catch (error) {
    throw refusal(`${what} cannot be decoded: ${reasonOf(error)}`);
  }
  const shape = layout === 'CHW' ? [channels, height, width] : [height, width, channels];
  if (datatype === 'UINT8') return { datatype, shape, data: inLayout(pixels, channels, layout, Uint8Array) };
  const data = inLayout(pixels, channels, layout, Float32Array);
  normalise(data, options, channels, layout);
  return { datatype, shape, data };
}

function checkOptions({ width, height, channels, datatype, scale, mean, std }: DecodeOptions): void {
  for (const [name, size] of [
    ['width', width],
    ['height', height],
  ] as const) {
    if (size !== undefined && !(Number.isInteger(size) && size >= 1))
      throw new RangeError(`${name} is ${size}; it must be a whole number, at least 1`);
  }
  if ((width ?? 1) * (height ?? 1) > imagePixelsMax) {
    throw new RangeError(`a picture of ${width} x ${height} would have more than ${imagePixelsMax} pixels`);
  }
  if (channels !== undefined && channels !== 1 && channels !== 3) throw new RangeError('channels must be 1 or 3');
  if (datatype === 'UINT8' && (scale ?? mean ?? std) !== undefined) {
    throw new RangeError('scale, mean and std need the datatype FP32');
  }
}

/** Only one size was given: the other follows from the picture, and a narrow picture may become very long. */
async function checkOtherSize(image: Sharp, { width, height }: DecodeOptions): Promise<void> {
  const upright = (await image.metadata()).autoOrient;
  const given = width ?? height ?? 1;
  const ratio = width === undefined ? upright.width / upright.height : upright.height / upright.width;
  const other = Math.max(1, Math.round(given * ratio));
  if (given * other <= imagePixelsMax) return;
  const sizes = width === undefined ? `high it would be ${other} wide` : `wide it would be ${other} high`;
  const limit = `${given * other} pixels and more than ${imagePixelsMax} (imagePixelsMax)`;
  throw new RangeError(`${given} pixels ${sizes}, ${limit}`);
}

function prepare(image: Sharp, { width, height, fit = 'cover', channels = 3 }: DecodeOptions): Sharp {
  const upright = image.autoOrient().flatten({ background: '#000' });
  const sized =
    width === undefined && height === undefined
      ? upright
      : upright.resize({
          ...(width === undefined ? {} : { width }),
          ...(height === undefined ? {} : { height }),
          fit,
          background: '#000',
        });
  // Grey pictures keep one channel even in sRGB.
  return channels === 1 ? sized.greyscale().extractChannel(0) : sized.toColourspace('srgb').removeAlpha();
}

/** Pixels come with their channels interleaved. A grey picture becomes three equal channels. */
function inLayout<A extends Uint8Array | Float32Array>(
  pixels: Buffer,
  channels: number,
  layout: 'CHW' | 'HWC',
  Target: new (length: number) => A,
): A {
  return layout === 'HWC' || channels === 1 ? copied(pixels, Target) : planes(pixels, channels, Target);
}

function copied<A extends Uint8Array | Float32Array>(pixels: Buffer, Target: new (length: number) => A): A {
  const data = new Target(pixels.length);
  data.set(pixels);
  return data;
}

function planes<A extends Uint8Array | Float32Array>(
  pixels: Buffer,
  channels: number,
  Target: new (length: number) => A,
): A {
  const data = new Target(pixels.length);
  const planePixels = pixels.length / channels;
  let at = 0;
  for (let pixel = 0; pixel < planePixels; pixel++) {
    for (let channel = 0; channel < channels; channel++) data[channel * planePixels + pixel] = pixels[at++] as number;
  }
  return data;
}

function normalise(data: Float32Array, options: DecodeOptions, channels: number, layout: 'CHW' | 'HWC'): void {
  const { scale = 1 / 255 } = options;
  const mean = perChannel(options.mean ?? 0, channels, 'mean');
  const std = perChannel(options.std ?? 1, channels, 'std');
  const planePixels = data.length / channels;
  for (let index = 0; index < data.length; index++) {
    const channel = layout === 'CHW' ? Math.floor(index / planePixels) : index % channels;
    data[index] = ((data[index] as number) * scale - (mean[channel] as number)) / (std[channel] as number);
  }
}

function perChannel(value: number | readonly number[], channels: number, name: string): readonly number[] {
  const list = typeof value === 'number' ? new Array<number>(channels).fill(value) : value;
  if (list.length !== channels) throw new RangeError(`${name} has ${list.length} numbers for ${channels} channels`);
  return list;
}

/** The first line of the library's message has the reason; the others are internal details. */
function reasonOf(error: unknown): string {
  const [first = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  if (/pixel limit/i.test(first)) return `it has more than ${imagePixelsMax} pixels (imagePixelsMax)`;
  if (/unsupported image format/i.test(first)) return 'it is not a JPEG, PNG, WebP, GIF, AVIF or TIFF file';
  return first;
}

function refusal(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
