import { expect, test } from 'vitest';
import { generatorEnvironment, workerEnvironment } from './worker-environment.ts';

test('workers get the variables of GPU libraries, and nothing else', () => {
  const gpu = {
    LD_LIBRARY_PATH: '/opt/cuda/lib64',
    CUDA_VISIBLE_DEVICES: '1',
    NVIDIA_TF32_OVERRIDE: '0',
    NVIDIA_VISIBLE_DEVICES: 'all',
    ORT_TENSORRT_ENGINE_CACHE_ENABLE: '1',
  };
  const other = {
    PATH: '/bin',
    NVIDIA_API_KEY: 'x',
    AWS_SECRET_ACCESS_KEY: 'x',
    MY_CUDA_TOKEN: 'x',
    LD_PRELOAD: 'x',
    NODE_OPTIONS: 'x',
  };
  expect(workerEnvironment({ ...gpu, ...other, CUDA_PATH: undefined })).toEqual(gpu);
});

test('workers of generators ask for large pages as well', () => {
  expect(generatorEnvironment({ CUDA_PATH: '/opt/cuda', PATH: '/bin' })).toEqual({
    CUDA_PATH: '/opt/cuda',
    GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1',
  });
});
