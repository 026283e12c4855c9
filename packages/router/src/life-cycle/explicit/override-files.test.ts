import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { fileNameBytesMax, filePathBytesMax, OverrideFiles, overrideFilesMax } from './override-files.ts';

const bytes = Buffer.from('x');

test('files of a load are in a folder that only the server can read, and are removed when it stops', async () => {
  const files = new OverrideFiles({});
  const folder = await files.write(
    'm',
    new Map([
      ['1/model.onnx', bytes],
      ['1/weights/a.bin', bytes],
    ]),
  );
  expect(await readFile(join(folder, '1/weights/a.bin'))).toEqual(bytes);
  expect(statSync(folder).mode & 0o077).toBe(0);
  expect(files.isKept).toBe(false);
  await files.close();
  expect(existsSync(dirname(folder))).toBe(false);
});

test('with a folder to keep them they stay until they are removed', async () => {
  const state = await mkdtemp(join(tmpdir(), 'millrace-state-'));
  try {
    const files = new OverrideFiles({ stateFolder: join(state, 'loads') });
    const folder = await files.write('m', new Map([['1/model.onnx', bytes]]));
    await files.close();
    expect(existsSync(folder)).toBe(true);
    const unfinished = await files.write('n', new Map([['1/model.onnx', bytes]]));
    await files.keepOnly(new Set([folder]));
    expect([existsSync(folder), existsSync(unfinished)]).toEqual([true, false]);
    await files.remove(folder);
    expect(existsSync(folder)).toBe(false);
  } finally {
    await rm(state, { recursive: true });
  }
});

const longName = 'x'.repeat(fileNameBytesMax + 1);
const longPath = `1/${'x/'.repeat(filePathBytesMax / 2)}x`;

test.each([
  'model.onnx',
  `1/${longName}`,
  longPath,
  '../1/model.onnx',
  '1/../../x',
  '/1/model.onnx',
  '01/model.onnx',
  '1/',
  '1//x',
  '1/a\0b',
  '',
])('a file called %j is refused, and nothing is written', async (path) => {
  const files = new OverrideFiles({ stateFolder: join(tmpdir(), 'millrace-never-made') });
  await expect(files.write('m', new Map([[path, bytes]]))).rejects.toMatchObject({ code: 'invalid-request' });
  expect(existsSync(join(tmpdir(), 'millrace-never-made'))).toBe(false);
});

test('a path cannot be both a file and a folder', async () => {
  const state = join(tmpdir(), 'millrace-never-made');
  const files = new Map(['1/a', '1/a/b/c'].map((path) => [path, bytes]));
  await expect(new OverrideFiles({ stateFolder: state }).write('m', files)).rejects.toMatchObject({
    code: 'invalid-request',
  });
  expect(existsSync(state)).toBe(false);
});

test('files that cannot all be written leave nothing', async () => {
  const state = await mkdtemp(join(tmpdir(), 'millrace-state-'));
  try {
    const unwritable = new Map<string, Uint8Array>([
      ['1/a', bytes],
      ['1/b', 5 as unknown as Uint8Array],
    ]);
    await expect(new OverrideFiles({ stateFolder: state }).write('m', unwritable)).rejects.toThrow();
    expect(readdirSync(state)).toEqual([]);
  } finally {
    await rm(state, { recursive: true });
  }
});

test('more files than overrideFilesMax are refused', async () => {
  const many = new Map(Array.from({ length: overrideFilesMax + 1 }, (_, index) => [`1/${index}`, bytes] as const));
  await expect(new OverrideFiles({}).write('m', many)).rejects.toMatchObject({ code: 'request-too-large' });
});
