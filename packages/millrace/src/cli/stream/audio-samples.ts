/** Audio as it arrives, from a WAV file or as raw 16-bit samples, cut into frames of one channel. */
import { CommandFailure } from '../command-failure.ts';

export interface AudioOptions {
  /** In messages: the file, or standard input. */
  readonly name: string;
  readonly frameSamples: number;
  /** Samples a second that the model takes. */
  readonly rate: number;
}

interface WavFormat {
  /** 1: integers, 3: floats. */
  readonly encoding: number;
  readonly channels: number;
  readonly rate: number;
  readonly bits: number;
}

const rawFormat = (rate: number): WavFormat => ({ encoding: 1, channels: 1, rate, bits: 16 });
/** Before its samples; a WAV file has rarely more than some hundred bytes there. */
const headBytesMax = 1024 * 1024;
const extensibleEncoding = 0xfffe;

/** Frames of samples from -1 to 1; the last one is filled up with silence. */
export async function* audioFrames(
  source: AsyncIterable<Uint8Array>,
  { name, frameSamples, rate }: AudioOptions,
): AsyncGenerator<Float32Array> {
  let waiting = Buffer.alloc(0);
  let format: WavFormat | undefined;
  let frame = new Float32Array(frameSamples);
  let filled = 0;
  for await (const chunk of source) {
    waiting = Buffer.concat([waiting, chunk]);
    if (format === undefined) {
      const head = takeHead(waiting, name, rate);
      if (head === undefined) continue;
      format = head.format;
      waiting = waiting.subarray(head.bytes);
    }
    const step = (format.channels * format.bits) / 8;
    const whole = waiting.length - (waiting.length % step);
    for (let at = 0; at < whole; at += step) {
      frame[filled] = sampleAt(waiting, at, format);
      filled += 1;
      if (filled < frameSamples) continue;
      yield frame;
      frame = new Float32Array(frameSamples);
      filled = 0;
    }
    waiting = waiting.subarray(whole);
  }
  if (format === undefined && waiting.length > 0)
    throw new CommandFailure(`${name} ends within the head of a WAV file`);
  if (filled > 0) yield frame;
}

/** Undefined: more bytes are needed. What does not begin as a WAV file is raw. */
function takeHead(bytes: Buffer, name: string, rate: number): { format: WavFormat; bytes: number } | undefined {
  if (bytes.length < 12) return undefined;
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE') {
    return { format: rawFormat(rate), bytes: 0 };
  }
  let format: WavFormat | undefined;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const id = bytes.toString('latin1', at, at + 4);
    const size = bytes.readUInt32LE(at + 4);
    if (id === 'data') return { format: mustFit(format, name, rate), bytes: at + 8 };
    if (at + 8 + size > headBytesMax)
      throw new CommandFailure(`${name} has no samples in its first ${headBytesMax} bytes`);
    if (at + 8 + size > bytes.length) return undefined;
    if (id === 'fmt ' && size >= 16) format = formatAt(bytes, at + 8, size);
    // Chunks have even lengths.
    at += 8 + size + (size % 2);
  }
  return undefined;
}

function formatAt(bytes: Buffer, at: number, size: number): WavFormat {
  const written = bytes.readUInt16LE(at);
  return {
    encoding: written === extensibleEncoding && size >= 26 ? bytes.readUInt16LE(at + 24) : written,
    channels: bytes.readUInt16LE(at + 2),
    rate: bytes.readUInt32LE(at + 4),
    bits: bytes.readUInt16LE(at + 14),
  };
}

function mustFit(format: WavFormat | undefined, name: string, rate: number): WavFormat {
  if (format === undefined) throw new CommandFailure(`${name} is a WAV file without a format`);
  const { encoding, bits, channels } = format;
  const isKnown = (encoding === 1 && [8, 16, 24, 32].includes(bits)) || (encoding === 3 && [32, 64].includes(bits));
  if (!isKnown || channels === 0) {
    throw new CommandFailure(
      `${name} has ${bits} bits of encoding ${encoding} and ${channels} channels; integers of 8 to 32 bits and floats of 32 and 64 can be read`,
    );
  }
  if (format.rate !== rate) {
    throw new CommandFailure(
      `${name} has ${format.rate} samples a second, and the model is sent ${rate}: convert it (ffmpeg -i ${name} -ar ${rate} converted.wav), or give --rate ${format.rate} if the model takes that`,
    );
  }
  return format;
}

/** The mean of its channels. */
function sampleAt(bytes: Buffer, at: number, { encoding, bits, channels }: WavFormat): number {
  const width = bits / 8;
  let sum = 0;
  for (let channel = 0; channel < channels; channel += 1) {
    const offset = at + channel * width;
    if (encoding === 3) sum += width === 8 ? bytes.readDoubleLE(offset) : bytes.readFloatLE(offset);
    else if (width === 1) sum += (bytes.readUInt8(offset) - 128) / 128;
    else sum += bytes.readIntLE(offset, width) / 2 ** (bits - 1);
  }
  return sum / channels;
}
