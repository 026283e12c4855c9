import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findGpuSupport } from './gpu-support.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function folderWith(...names: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-gpu-'));
  folders.push(folder);
  for (const name of names) writeFileSync(join(folder, name), '');
  return folder;
}

const shared = 'libonnxruntime_providers_shared.so';
const cuda = 'libonnxruntime_providers_cuda.so';
const tensorrt = 'libonnxruntime_providers_tensorrt.so';

test('CUDA needs both of its libraries beside the engine, TensorRT its own as well', () => {
  const support = (...names: readonly string[]) =>
    findGpuSupport(8, { libraryFolder: folderWith(...names), deviceFolder: folderWith() });
  expect(support('libonnxruntime.so.1')).toMatchObject({ hasCuda: false, hasTensorrt: false });
  expect(support(cuda)).toMatchObject({ hasCuda: false });
  expect(support(shared, cuda)).toMatchObject({ hasCuda: true, hasTensorrt: false });
  expect(support(shared, cuda, tensorrt)).toMatchObject({ hasCuda: true, hasTensorrt: true });
  expect(support(shared, tensorrt)).toMatchObject({ hasTensorrt: false });
});

test('devices are counted, up to the number that may be used', () => {
  const deviceFolder = folderWith('null', 'nvidia0', 'nvidia1', 'nvidiactl', 'nvidia-uvm');
  const devices = (max: number) => findGpuSupport(max, { libraryFolder: folderWith(), deviceFolder }).devices;
  expect([Number.POSITIVE_INFINITY, 3, 1, 0].map(devices)).toEqual([2, 2, 1, 0]);
});

test.each([
  [undefined, 4],
  ['0,2', 2],
  ['3', 1],
  ['GPU-8d1f, MIG-77aa', 2],
  ['1,-1,2', 1],
  ['0,4,1', 1],
  ['-1', 0],
  ['', 0],
])('CUDA_VISIBLE_DEVICES %j makes %j of four devices visible', (visibleDevices, devices) => {
  const deviceFolder = folderWith('nvidia0', 'nvidia1', 'nvidia2', 'nvidia3');
  expect(findGpuSupport(8, { libraryFolder: folderWith(), deviceFolder, visibleDevices }).devices).toBe(devices);
});

test('folders that cannot be read mean no GPU support', () => {
  const nothing = { hasCuda: false, hasTensorrt: false, devices: 0 };
  expect(findGpuSupport(8, { libraryFolder: '/nowhere', deviceFolder: '/nowhere' })).toEqual(nothing);
  expect(findGpuSupport(8, { libraryFolder: undefined, deviceFolder: folderWith('nvidia0') })).toEqual(nothing);
});

test('this machine is examined without loading the engine', () => {
  expect(findGpuSupport(8)).toMatchObject({ devices: expect.any(Number) });
});
