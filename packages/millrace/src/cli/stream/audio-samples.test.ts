import { expect, test } from 'vitest';
import { audioFrames } from './audio-samples.ts';

const options = { name: 'a.wav', frameSamples: 4, rate: 16_000 };

function wav({ encoding = 1, channels = 1, rate = 16_000, bits = 16 }, samples: Buffer): Buffer {
  const head = Buffer.alloc(36);
  head.write('RIFF', 0, 'latin1');
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(encoding, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt16LE(bits, 34);
  // A chunk of odd length that nobody knows, and the samples, whose length a pipe does not know.
  const other = Buffer.from('LIST\u0003\0\0\0abc\0', 'latin1');
  return Buffer.concat([head, other, Buffer.from('data\u00ff\u00ff\u00ff\u00ff', 'latin1'), samples]);
}

async function framesOf(bytes: Buffer, chunkBytes = bytes.length): Promise<number[][]> {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const frames: number[][] = [];
  for await (const frame of audioFrames(chunks(), options)) frames.push([...frame]);
  return frames;
}

const samples16 = Buffer.from(Int16Array.from([0, 16384, -32768, 8192, 16384]).buffer);

test.each([1, 3, 1000])(
  'a WAV file in pieces of %i bytes is cut into frames, the last filled with silence',
  async (size) => {
    expect(await framesOf(wav({}, samples16), size)).toEqual([
      [0, 0.5, -1, 0.25],
      [0.5, 0, 0, 0],
    ]);
  },
);

test('what is no WAV file is raw 16-bit samples', async () => {
  expect((await framesOf(Buffer.concat([samples16, samples16])))[0]).toEqual([0, 0.5, -1, 0.25]);
});

test.each([
  [{ bits: 8 }, Buffer.from([128, 192, 0, 160])],
  [{ bits: 24 }, Buffer.from([0, 0, 0, 0, 0, 0x40, 0, 0, 0x80, 0, 0, 0x20])],
  [{ bits: 32, encoding: 3 }, Buffer.from(Float32Array.from([0, 0.5, -1, 0.25]).buffer)],
  [{ bits: 64, encoding: 3 }, Buffer.from(Float64Array.from([0, 0.5, -1, 0.25]).buffer)],
  [{ channels: 2 }, Buffer.from(Int16Array.from([0, 0, 32767, 1, -32768, -32768, 8192, 8192]).buffer)],
])('%j is read', async (format, bytes) => {
  expect(await framesOf(wav(format, bytes))).toEqual([[0, 0.5, -1, 0.25]]);
});

test.each([
  [
    wav({ rate: 8000 }, samples16),
    /a\.wav has 8000 samples a second, and the model is sent 16000: convert it \(ffmpeg/,
  ],
  [wav({ bits: 12 }, samples16), /a\.wav has 12 bits of encoding 1 and 1 channels/],
  [wav({}, samples16).subarray(0, 40), /a\.wav ends within the head of a WAV file/],
])('what cannot be read is refused', async (bytes, message) => {
  await expect(framesOf(bytes)).rejects.toThrow(message);
});
