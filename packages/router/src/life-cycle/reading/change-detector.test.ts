import { rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { modelBytes } from '@millrace/onnx/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findAllModels } from '../../repository/repository.ts';
import { TestRepository } from '../../repository/testing/test-repository.ts';
import { ChangeDetector, type DetectedChanges } from './change-detector.ts';
import { fingerprintOf } from './fingerprint.ts';

const settleMs = 1000;
let repository: TestRepository;
let detector: ChangeDetector;
let now = 0;

beforeEach(async () => {
  repository = await TestRepository.create();
  const { path } = repository;
  detector = new ChangeDetector({ find: () => findAllModels([path]), fingerprintOf }, settleMs);
  now = 0;
});
afterEach(() => repository.remove());

async function detectAfter(ms: number, isFirst = false): Promise<DetectedChanges> {
  now += ms;
  return detector.detect(now, isFirst);
}

function told({ changed, removed, broken, isUnsettled }: DetectedChanges): readonly string[] {
  return [
    ...changed.map(({ location }) => `changed ${location.name}`),
    ...removed.map((name) => `removed ${name}`),
    ...broken.map(({ name }) => `broken ${name}`),
    ...(isUnsettled ? ['unsettled'] : []),
  ];
}

test('the first check reports every model, later ones only changes', async () => {
  await repository.write('m/1/model.onnx', modelBytes());
  expect(told(await detectAfter(0, true))).toEqual(['changed m']);
  expect(told(await detectAfter(5000))).toEqual([]);
});

test('a model whose read failed is reported again after 1, 2, 4 and more checks, until a read succeeds', async () => {
  await repository.write('m/1/model.onnx', modelBytes());
  await detectAfter(0, true);
  const reads: number[] = [];
  detector.noteRead('m', true);
  for (let check = 1; check <= 195; check++) {
    const { changed } = await detectAfter(1);
    if (changed.length === 0) continue;
    expect(changed[0]?.isRetry).toBe(true);
    reads.push(check);
    detector.noteRead('m', true);
  }
  expect(reads).toEqual([1, 3, 7, 15, 31, 63, 127, 191]);
  detector.noteRead('m', false);
  for (let check = 1; check <= 70; check++) expect(told(await detectAfter(1))).toEqual([]);
});

test('a change is reported after settleMs without changes, not while files grow', async () => {
  await detectAfter(0, true);
  for (let bytes = 1; bytes < 4; bytes++) {
    await repository.write('m/1/model.onnx', modelBytes().subarray(0, bytes));
    expect(told(await detectAfter(settleMs))).toEqual(['unsettled']);
  }
  expect(told(await detectAfter(settleMs - 1))).toEqual(['unsettled']);
  expect(told(await detectAfter(1))).toEqual(['changed m']);
  expect(told(await detectAfter(1))).toEqual([]);
});

test.each([
  ['the configuration', () => repository.write('m/config.pbtxt', 'max_batch_size: 4')],
  ['a label file', () => repository.write('m/labels.txt', 'cat')],
  ['weights beside the model', () => repository.write('m/1/weights/model.bin', 'x')],
  ['a new version', () => repository.write('m/2/model.onnx', modelBytes())],
  ['a removed version', () => rm(join(repository.path, 'm/1'), { recursive: true })],
  [
    'a file of the same size and another inode',
    async () => {
      const other = await repository.write('other', modelBytes());
      await rename(other, join(repository.path, 'm/1/model.onnx'));
    },
  ],
])('%s is a change', async (_what, change) => {
  await repository.write('m/1/model.onnx', modelBytes());
  await repository.write('m/3/model.onnx', modelBytes());
  await detectAfter(0, true);
  await change();
  await detectAfter(1);
  expect(told(await detectAfter(settleMs))).toEqual(['changed m']);
});

test('a version behind a link with a new target is a change', async () => {
  await repository.write('a/model.onnx', modelBytes());
  await repository.write('b/model.onnx', modelBytes());
  await repository.folder('m');
  await symlink(join(repository.path, 'a'), join(repository.path, 'm/1'));
  await detectAfter(0, true);
  await rm(join(repository.path, 'm/1'));
  await symlink(join(repository.path, 'b'), join(repository.path, 'm/1'));
  await detectAfter(1);
  expect(told(await detectAfter(settleMs))).toEqual(['changed m']);
});

test('each version has a fingerprint of its own', async () => {
  await repository.write('m/1/model.onnx', modelBytes());
  await repository.write('m/2/model.onnx', modelBytes());
  const [before] = (await detectAfter(0, true)).changed;
  await repository.write('m/2/model.onnx', Buffer.concat([modelBytes(), Buffer.from('x')]));
  await detectAfter(1);
  const [after] = (await detectAfter(settleMs)).changed;
  expect(after?.fingerprint.versions.get('1')).toEqual(before?.fingerprint.versions.get('1'));
  expect(after?.fingerprint.versions.get('2')).not.toEqual(before?.fingerprint.versions.get('2'));
});

test('a removed model is reported once it stays away', async () => {
  const path = await repository.write('m/1/model.onnx', modelBytes());
  await detectAfter(0, true);
  await rename(path, `${path}.away`);
  await rename(join(repository.path, 'm'), join(repository.path, '.m'));
  expect(told(await detectAfter(1))).toEqual(['unsettled']);
  await rename(join(repository.path, '.m'), join(repository.path, 'm'));
  await rename(`${path}.away`, path);
  expect(told(await detectAfter(settleMs))).toEqual([]);
  await rm(join(repository.path, 'm'), { recursive: true });
  await detectAfter(1);
  expect(told(await detectAfter(settleMs))).toEqual(['removed m']);
});

test('a repository that is temporarily unreadable changes nothing, and is reported once', async () => {
  await repository.write('m/1/model.onnx', modelBytes());
  await detectAfter(0, true);
  await rename(repository.path, `${repository.path}-away`);
  const changes = await detectAfter(settleMs);
  expect(told(changes)).toEqual([]);
  expect(changes.warnings).toMatchObject([{ source: repository.path }]);
  expect((await detectAfter(settleMs)).warnings).toEqual([]);
  await rename(`${repository.path}-away`, repository.path);
  expect(told(await detectAfter(settleMs))).toEqual([]);
});
