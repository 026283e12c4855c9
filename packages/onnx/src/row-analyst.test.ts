import type { spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { analyseRowsOfFile } from './analyse-rows.ts';
import { RowAnalyst } from './row-analyst.ts';

const programPath = createRequire(import.meta.url).resolve('@millrace/onnx/row-analyst-main');
const model = new URL('../../../tests/models/mlp/1/model.onnx', import.meta.url).pathname;
const mixing = new URL('../../../tests/models/slow/1/model.onnx', import.meta.url).pathname;
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'row-analyst-'));
});

afterEach(() => rm(folder, { recursive: true }));

test('the process says what the analysis says', async () => {
  const { analyse } = new RowAnalyst({ programPath });
  expect(await Promise.all([model, mixing].map(analyse))).toEqual(
    await Promise.all([model, mixing].map(analyseRowsOfFile)),
  );
});

test('a file with the contents of another gets its verdict without being analysed', async () => {
  const { analyse } = new RowAnalyst({ programPath });
  const copy = join(folder, 'copy.onnx');
  await copyFile(model, copy);
  expect(await analyse(copy)).toBe(await analyse(model));
});

test('a file that changes is analysed again', async () => {
  const { analyse } = new RowAnalyst({ programPath });
  const path = join(folder, 'model.onnx');
  await copyFile(model, path);
  expect(await analyse(path)).toEqual({ kind: 'independent' });
  await copyFile(mixing, path);
  await utimes(path, 1, 1);
  expect(await analyse(path)).toMatchObject({ kind: 'unknown' });
});

test('a file that is missing or is no model is unknown, and the next one is analysed', async () => {
  const { analyse } = new RowAnalyst({ programPath });
  const noModel = join(folder, 'text.onnx');
  await writeFile(noModel, 'not a model');
  expect(await analyse(join(folder, 'missing.onnx'))).toMatchObject({
    kind: 'unknown',
    reason: expect.stringContaining('ENOENT'),
  });
  expect(await analyse(noModel)).toMatchObject({ kind: 'unknown' });
  expect(await analyse(model)).toEqual({ kind: 'independent' });
});

test('an analysis over its time limit is unknown, and the next one is made by a new process', async () => {
  const busy = join(folder, 'busy.mjs');
  await writeFile(
    busy,
    `process.on('message', ({ kind }) => { if (kind === 'digest') process.send('digest'); else for (;;); });`,
  );
  const { analyse } = new RowAnalyst({ programPath: busy, msMax: 500 });
  expect(await analyse(model)).toMatchObject({
    kind: 'unknown',
    reason: 'it could not be analysed: it took longer than 0.5 s',
  });
  expect(await analyse(model)).toMatchObject({ kind: 'unknown' });
});

test('a process that runs out of memory makes the graph unknown, and no other process ends by it', async () => {
  const hungry = join(folder, 'hungry.mjs');
  await writeFile(
    hungry,
    `process.on('message', () => { const all = []; for (;;) all.push(new Array(1000).fill({})); });`,
  );
  const { analyse } = new RowAnalyst({ programPath: hungry, heapMbMax: 32 });
  expect(await analyse(model)).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('its process ended') });
});

/** Keeps what one process found for the next. */
class Kept {
  readonly entries = new Map<string, unknown>();

  get(key: string): unknown {
    return this.entries.get(key);
  }

  put(key: string, value: unknown): void {
    this.entries.set(key, value);
  }
}

const startsNothing = (() => {
  throw new Error('no process is to be started');
}) as unknown as typeof spawn;

test('what one analyst found another one knows without a process, until the file changes', async () => {
  const kept = new Kept();
  const first = new RowAnalyst({ programPath, kept });
  const verdicts = await Promise.all([model, mixing].map(first.analyse));
  const { analyse } = new RowAnalyst({ programPath, kept, spawn: startsNothing });
  expect(await Promise.all([model, mixing].map(analyse))).toEqual(verdicts);
  const changed = join(folder, 'changed.onnx');
  await copyFile(model, changed);
  expect(await analyse(changed)).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('no process') });
});

test('a verdict that is none, kept by something else, is not used', async () => {
  const kept = new Kept();
  await new RowAnalyst({ programPath, kept }).analyse(model);
  for (const key of kept.entries.keys()) kept.entries.set(key, { kind: 'other' });
  expect(await new RowAnalyst({ programPath, kept }).analyse(model)).toEqual({ kind: 'independent' });
});

test('what could not be read is not kept', async () => {
  const kept = new Kept();
  const noModel = join(folder, 'text.onnx');
  await writeFile(noModel, 'not a model');
  await new RowAnalyst({ programPath, kept }).analyse(noModel);
  expect([...kept.entries.keys()].filter((key) => key.startsWith('rows'))).toEqual([]);
});
