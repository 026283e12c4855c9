import { existsSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { OverrideFiles, overrideFilesMax } from './override-files.ts';

const bytes = Buffer.from('x');

test('files of a load lie in a folder that only the server can read, and go with it', async () => {
  const files = new OverrideFiles(undefined);
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

test('with a place to keep them they stay until they are removed', async () => {
  const state = await mkdtemp(join(tmpdir(), 'millrace-state-'));
  try {
    const files = new OverrideFiles(join(state, 'loads'));
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

test.each(['model.onnx', '../1/model.onnx', '1/../../x', '/1/model.onnx', '01/model.onnx', '1/', '1//x', '1/a\0b', ''])(
  'a file called %j is refused, and nothing is written',
  async (path) => {
    const files = new OverrideFiles(join(tmpdir(), 'millrace-never-made'));
    await expect(files.write('m', new Map([[path, bytes]]))).rejects.toMatchObject({ code: 'invalid-request' });
    expect(existsSync(join(tmpdir(), 'millrace-never-made'))).toBe(false);
  },
);

test('more files than overrideFilesMax are refused', async () => {
  const many = new Map(Array.from({ length: overrideFilesMax + 1 }, (_, index) => [`1/${index}`, bytes] as const));
  await expect(new OverrideFiles(undefined).write('m', many)).rejects.toMatchObject({ code: 'request-too-large' });
});
