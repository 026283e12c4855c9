/** What the bundled pipelines do to texts and sounds before they ask a network, each function alone. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openChatTemplate, TextTokenizer } from '@millrace/generation';
import { describe, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { sampleAnswers } from '../support/samples.ts';
import { wavFile } from '../support/wav-file.ts';

/** The pipelines are no part of a package: a user may change them in place. */
async function moduleOf<T>(path: string): Promise<T> {
  return (await import(/* @vite-ignore */ pathToFileURL(join(repositoryRoot, 'models', path)).href)) as T;
}
const fileOf = (path: string): string => readFileSync(join(repositoryRoot, 'models', path), 'utf8');

const { wordPieceTokenizer } = await moduleOf<{
  wordPieceTokenizer(json: string): (text: string) => readonly number[];
}>('sentiment/word-piece.ts');
const { soundFrom } = await moduleOf<{
  soundFrom(file: Uint8Array): { readonly samples: Float32Array; readonly rate: number };
}>('listener/1/wav.ts');
const { resampled } = await moduleOf<{
  resampled(samples: Float32Array, from: number, to: number): Float32Array;
}>('listener/1/resample.ts');
const { wordsFrom } = await moduleOf<{
  wordsFrom(frames: readonly Float32Array[]): readonly { readonly label: number; readonly frame: number }[];
}>('listener/1/words.ts');

describe('token ids equal those of the library that trained the tokenizer', () => {
  const reviewIds = wordPieceTokenizer(fileOf('sentiment_tensors/tokenizer.json'));
  const stories = new TextTokenizer(fileOf('storyteller/1/tokenizer.json'));

  test.each(sampleAnswers.sentimentTokens)('sentiment: $text', ({ text, ids }) => {
    expect(reviewIds(text).slice(0, 96)).toEqual(ids);
  });

  test.each(sampleAnswers.storytellerTokens)('storyteller: $text', ({ text, ids, decoded }) => {
    expect(stories.encode(text, false)).toEqual(ids);
    expect(stories.encode(text, true)).toEqual([0, ...ids]);
    expect(stories.decode(ids)).toBe(decoded);
  });

  test('a tokenizer of another kind is refused', () => {
    expect(() => wordPieceTokenizer(fileOf('storyteller/1/tokenizer.json'))).toThrow();
  });

  test('a chat with the storyteller is a request with an empty line behind it', () => {
    const template = openChatTemplate(JSON.parse(fileOf('storyteller/1/tokenizer_config.json')), undefined);
    const messages = [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: ' Tell me a story about a fox. ' },
    ];
    expect(template?.render({ messages, addGenerationPrompt: true, now: new Date(0) })).toBe(
      '<|end|>Tell me a story about a fox.\n\n',
    );
  });
});

describe('WAV files', () => {
  const samples = Float32Array.of(0, 0.25, -0.5, 0.99, -1);

  test.each([
    [1, 8, 0.01],
    [1, 16, 1e-4],
    [1, 24, 1e-6],
    [1, 32, 1e-6],
    [3, 32, 0],
    [3, 64, 0],
  ] as const)('of encoding %i with %i bits are read, mono and stereo', (encoding, bits, error) => {
    for (const channels of [1, 2]) {
      const sound = soundFrom(wavFile(samples, { rate: 22_050, channels, encoding, bits }));
      expect(sound.rate).toBe(22_050);
      expect(sound.samples).toHaveLength(samples.length);
      for (const [index, value] of samples.entries()) {
        expect(Math.abs((sound.samples[index] as number) - value)).toBeLessThanOrEqual(error);
      }
    }
  });

  test('channels are averaged, unknown chunks skipped, and a size that a pipe left open ends with the file', () => {
    const file = wavFile(Float32Array.of(0.5, 0, 0.5, 0), { rate: 8000, channels: 1, encoding: 3, bits: 32 });
    file.writeUInt16LE(2, 22);
    file.writeUInt32LE(0x7fff_f000, 40);
    const note = Buffer.from('LIST\x03\0\0\0abc\0', 'latin1');
    const sound = soundFrom(Buffer.concat([file.subarray(0, 12), note, file.subarray(12)]));
    expect([...sound.samples]).toEqual([0.25, 0.25]);
  });

  test('of the extensible format are read by their own encoding', () => {
    const plain = wavFile(samples, { rate: 8000, channels: 1, encoding: 3, bits: 32 });
    const format = Buffer.alloc(48);
    plain.copy(format, 0, 12, 36);
    format.writeUInt32LE(40, 4);
    format.writeUInt16LE(0xfffe, 8);
    format.writeUInt16LE(3, 32);
    expect([...soundFrom(Buffer.concat([plain.subarray(0, 12), format, plain.subarray(36)])).samples]).toEqual([
      ...samples,
    ]);
  });

  const good = wavFile(samples, { rate: 8000, channels: 1, encoding: 1, bits: 16 });
  const changed = (change: (file: Buffer) => void): Buffer => {
    const file = Buffer.from(good);
    change(file);
    return file;
  };
  test.each([
    ['a file that is cut', good.subarray(0, 30), /without a complete 'fmt' chunk/],
    ['one without data', good.subarray(0, 36), /without a complete 'data' chunk/],
    ['compressed sound', changed((file) => file.writeUInt16LE(85, 20)), /has encoding 85 with 16 bits a sample/],
    ['no channel', changed((file) => file.writeUInt16LE(0, 22)), /has no channel/],
    ['a rate of 1 Hz', changed((file) => file.writeUInt32LE(1, 24)), /has 1 samples a second, not 4000 to 192000/],
    [
      'samples that are not numbers',
      wavFile(Float32Array.of(Number.NaN), { rate: 8000, channels: 1, encoding: 3, bits: 32 }),
      /samples that are not numbers/,
    ],
    ['no file at all', new Uint8Array(), /is not a WAV file \(it has 0 bytes\)/],
  ])('%s is refused with what to do', (_title, file, message) => {
    expect(() => soundFrom(file)).toThrow(message);
    expect(() => soundFrom(file)).toThrow(/ffmpeg -i/);
  });
});

describe('resampling', () => {
  const tone = (hertz: number, rate: number): Float32Array =>
    Float32Array.from({ length: rate }, (_, index) => Math.sin((2 * Math.PI * hertz * index) / rate));
  /** Without the ends, where the filter has too few samples. */
  const middle = (samples: Float32Array): Float32Array =>
    samples.subarray(samples.length / 4, (3 * samples.length) / 4);

  test.each([8000, 22_050, 44_100, 48_000])('a tone at %i Hz is the same tone at 16 kHz', (rate) => {
    const made = resampled(tone(440, rate), rate, 16_000);
    expect(made).toHaveLength(16_000);
    const wanted = middle(tone(440, 16_000));
    for (const [index, value] of middle(made).entries())
      expect(Math.abs(value - (wanted[index] as number))).toBeLessThan(0.01);
  });

  test('what the new rate cannot carry is filtered out, not folded back', () => {
    const made = middle(resampled(tone(11_000, 48_000), 48_000, 16_000));
    expect(made.every((value) => Math.abs(value) < 0.01)).toBe(true);
  });
});

test('one word is reported once, and other words and silence are not', () => {
  const frame = (label: number): Float32Array =>
    Float32Array.from({ length: 13 }, (_, index) => (index === label ? 0.9 : 0.01));
  const frames = [
    ...new Array(10).fill(0),
    ...new Array(12).fill(5),
    ...new Array(30).fill(0),
    ...new Array(12).fill(3),
  ].map(frame);
  expect(wordsFrom(frames)).toMatchObject([
    { label: 5, frame: 12 },
    { label: 3, frame: 54 },
  ]);
});
