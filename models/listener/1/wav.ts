/** Reads WAV files: PCM of 8, 16, 24 and 32 bits, floats of 32 and 64; channels are averaged. */
import { invalid } from 'millrace/pipeline';

export interface Sound {
  /** From -1 to 1. */
  readonly samples: Float32Array;
  /** Samples a second. */
  readonly rate: number;
}

type ReadSample = (view: DataView, offset: number) => number;

const encodings: Readonly<Record<string, ReadSample>> = {
  '1/8': (view, offset) => (view.getUint8(offset) - 128) / 2 ** 7,
  '1/16': (view, offset) => view.getInt16(offset, true) / 2 ** 15,
  '1/24': (view, offset) => (view.getUint16(offset, true) + view.getInt8(offset + 2) * 2 ** 16) / 2 ** 23,
  '1/32': (view, offset) => view.getInt32(offset, true) / 2 ** 31,
  '3/32': (view, offset) => view.getFloat32(offset, true),
  '3/64': (view, offset) => view.getFloat64(offset, true),
};

const extensible = 0xfffe;
const [rateMin, rateMax] = [4000, 192_000];
const advice = 'send a WAV file, PCM or float; for instance by: ffmpeg -i recording.m4a -ac 1 -ar 16000 recording.wav';

export function soundFrom(file: Uint8Array): Sound {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (file.length < 12 || textAt(view, 0) !== 'RIFF' || textAt(view, 8) !== 'WAVE') {
    throw invalid(`input 'audio' is not a WAV file (it has ${file.length} bytes); ${advice}`);
  }
  const format = chunkOf(view, 'fmt ', 16);
  const data = chunkOf(view, 'data', 0);
  const channels = format.getUint16(2, true);
  const rate = format.getUint32(4, true);
  const bits = format.getUint16(14, true);
  const tag = format.getUint16(0, true);
  const encoding = tag === extensible && format.byteLength >= 26 ? format.getUint16(24, true) : tag;
  const readSample = encodings[`${encoding}/${bits}`];
  if (readSample === undefined) {
    throw invalid(`input 'audio' has encoding ${encoding} with ${bits} bits a sample, which is not read; ${advice}`);
  }
  if (channels === 0) throw invalid(`input 'audio' has no channel; ${advice}`);
  if (rate < rateMin || rate > rateMax) {
    throw invalid(`input 'audio' has ${rate} samples a second, not ${rateMin} to ${rateMax}; ${advice}`);
  }
  const sampleBytes = bits / 8;
  const samples = new Float32Array(Math.floor(data.byteLength / (channels * sampleBytes)));
  for (let index = 0; index < samples.length; index++) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel++) {
      sum += readSample(data, (index * channels + channel) * sampleBytes);
    }
    samples[index] = sum / channels;
  }
  if (!samples.every(Number.isFinite)) throw invalid(`input 'audio' has samples that are not numbers; ${advice}`);
  return { samples, rate };
}

/** Programs that write to a pipe do not know the size of the last chunk: it ends with the file at the latest. */
function chunkOf(view: DataView, name: string, bytesMin: number): DataView {
  for (let offset = 12; offset + 8 <= view.byteLength; ) {
    const bytes = Math.min(view.getUint32(offset + 4, true), view.byteLength - offset - 8);
    if (textAt(view, offset) === name && bytes >= bytesMin) {
      return new DataView(view.buffer, view.byteOffset + offset + 8, bytes);
    }
    offset += 8 + bytes + (bytes % 2);
  }
  throw invalid(`input 'audio' is a WAV file without a complete '${name.trim()}' chunk; ${advice}`);
}

function textAt(view: DataView, offset: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(offset + index)));
}
