import { describe, expect, test } from 'vitest';
import { doAtOnce } from '../slices/slice-queue.ts';
import { loadHeadBytesMax, readLoadBody } from './read-load-body.ts';

const files = { member: 'parameters', isFile: (key: string): boolean => key.startsWith('file:') };
const content = Buffer.from(Array.from({ length: 300_001 }, (_, index) => (index * 31) & 0xff));
const bytesOf = (json: unknown): Uint8Array => Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));

function read(json: unknown) {
  let grown = 0;
  let slices = 1;
  const work = readLoadBody(bytesOf(json), files, (bytes) => {
    grown += bytes;
  });
  for (;;) {
    const next = work.next();
    if (next.done === true) return { ...next.value, grown, slices };
    slices += 1;
  }
}

test('an empty body is an empty object', () => {
  expect(doAtOnce(readLoadBody(new Uint8Array(0), files, () => {}))).toEqual({ body: {}, files: new Map() });
});

describe('a body with files', () => {
  test('has them as bytes, read in slices, and empty texts instead of them', () => {
    const parameters = { config: '{}', 'file:1/model.onnx': content.toString('base64'), 'file:a.txt': 'YQ==' };
    const loaded = read({ parameters });
    expect(loaded.body).toEqual({ parameters: { config: '{}', 'file:1/model.onnx': '', 'file:a.txt': '' } });
    expect(Buffer.compare(loaded.files.get('file:1/model.onnx') as Uint8Array, content)).toBe(0);
    expect(Buffer.from(loaded.files.get('file:a.txt') as Uint8Array).toString()).toBe('a');
    expect(loaded.grown).toBeGreaterThanOrEqual(content.length);
    expect(loaded.slices).toBeGreaterThan(content.length / 65_536);
  });

  test.each([0, 1, 2])('may have escapes in its base64, and any padding (%d bytes less)', (less) => {
    const file = content.subarray(less);
    const text = file.toString('base64').replaceAll('/', '\\/').replaceAll('A', '\\u0041');
    const loaded = read(`{"parameters":{"file:x":"${text}"}}`);
    expect(Buffer.compare(loaded.files.get('file:x') as Uint8Array, file)).toBe(0);
  });

  test.each([
    ['a character that is not base64', (text: string) => `${text.slice(0, 200_000)}!${text.slice(200_001)}`],
    ['padding in the middle', (text: string) => `${text.slice(0, 65_532)}YQ==${text.slice(65_536)}`],
    ['a group that is not whole', (text: string) => text.slice(0, -3)],
  ])('is refused by its name for %s', (_, change) => {
    const text = change(content.toString('base64'));
    expect(() => read({ parameters: { 'file:1/model.onnx': text } })).toThrow("'file:1/model.onnx' is not base64");
  });

  test('has little beside them', () => {
    const long = 'x'.repeat(loadHeadBytesMax + 1);
    expect(() => read({ parameters: { config: long } })).toThrow(/a string has more than 262144 bytes/);
    expect(() => read({ other: Array(loadHeadBytesMax).fill({ a: 1 }) })).toThrow(/beside the data/);
  });
});

test.each(['[]', '"a"', '1'])('%s is not an object', (json) => {
  expect(() => read(json)).toThrow('the body must be a JSON object');
});
