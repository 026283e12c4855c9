/** WAV files for tests: written in every encoding, and read in the one that the samples have. */
export interface WavFormat {
  readonly rate: number;
  readonly channels: number;
  /** 1: integers, 3: floats. */
  readonly encoding: 1 | 3;
  readonly bits: 8 | 16 | 24 | 32 | 64;
}

/** The same samples in all channels. */
export function wavFile(samples: Float32Array, { rate, channels, encoding, bits }: WavFormat): Buffer {
  const frameBytes = (channels * bits) / 8;
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + samples.length * frameBytes, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(encoding, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * frameBytes, 28);
  head.writeUInt16LE(frameBytes, 32);
  head.writeUInt16LE(bits, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(samples.length * frameBytes, 40);
  const body = Buffer.alloc(samples.length * frameBytes);
  for (let index = 0; index < samples.length * channels; index++) {
    const value = samples[Math.floor(index / channels)] as number;
    const offset = (index * bits) / 8;
    if (encoding === 3 && bits === 64) body.writeDoubleLE(value, offset);
    else if (encoding === 3) body.writeFloatLE(value, offset);
    else if (bits === 8) body.writeUInt8(128 + Math.round(value * 127), offset);
    else body.writeIntLE(Math.round(value * (2 ** (bits - 1) - 1)), offset, bits / 8);
  }
  return Buffer.concat([head, body]);
}

/** One channel of 16 bits, as Python writes it. */
export function mustBeWav(file: Uint8Array): { readonly samples: Float32Array; readonly rate: number } {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (view.getUint16(22, true) !== 1 || view.getUint16(34, true) !== 16) throw new Error('not one channel of 16 bits');
  const samples = Float32Array.from(
    { length: (file.length - 44) / 2 },
    (_, index) => view.getInt16(44 + 2 * index, true) / 2 ** 15,
  );
  return { samples, rate: view.getUint32(24, true) };
}
