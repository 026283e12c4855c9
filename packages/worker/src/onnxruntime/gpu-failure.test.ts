import { expect, test } from 'vitest';
import { cudaContextFailure, gpuFailureMessage, missingFrom } from './gpu-failure.ts';

const gpu = { id: 0, provider: 'cuda' } as const;
const notLoaded = 'OrtSessionOptionsAppendExecutionProvider_Cuda: Failed to load shared library';

test('missing libraries are named', async () => {
  const message = await gpuFailureMessage(notLoaded, gpu, async () => ['libcublasLt.so.13', 'libcurand.so.10']);
  expect(message).toBe(
    'libonnxruntime_providers_cuda.so needs libcublasLt.so.13, libcurand.so.10, which were not found: install them, or add their folders to LD_LIBRARY_PATH',
  );
});

test('where none is missing, the message asks for the right version', async () => {
  expect(await gpuFailureMessage(notLoaded, gpu, async () => [])).toContain(
    'must have the same version as onnxruntime-node',
  );
  // The library is not installed here, so that its dependencies are unknown.
  expect(await gpuFailureMessage(notLoaded, gpu)).toContain('libonnxruntime_providers_cuda.so');
});

test('the error text is extracted from the names of functions and files', async () => {
  const failed = (what: string) =>
    `/src/cuda_call.cc:154 std::conditional_t<THRW, void, Status> CudaCall(ERRTYPE) CUDA failure ${what} ; GPU=-1 ; hostname=here ; expr=cudaSetDevice(info_.device_id); `;
  expect(await gpuFailureMessage(failed('719: unspecified launch failure'), gpu)).toBe(
    'CUDA failure 719: unspecified launch failure',
  );
  expect(await gpuFailureMessage(failed('101: invalid device ordinal'), gpu)).toBe(
    'CUDA failure 101: invalid device ordinal; check CUDA_VISIBLE_DEVICES and the driver',
  );
  expect(await gpuFailureMessage('something else', gpu)).toBe('something else');
});

test.each([
  'CUDA failure 2: out of memory ; GPU=0 ; hostname=here',
  'Exception during initialization: cuda_call.cc CUBLAS failure 3: the resource allocation failed ; GPU=0',
  'Non-zero status code returned while running Conv node. CUDNN failure 4: CUDNN_STATUS_ALLOC_FAILED ; GPU=0',
  'bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 411041792',
])('full GPU memory is recognised: %s', async (message) => {
  expect(await gpuFailureMessage(message, gpu)).toMatch(/^the GPU memory is full; .*millrace\.gpu_batch_sizes$/);
});

test('a failure that all later runs would share is distinguished from one of a single run', () => {
  const said = (what: string) =>
    cudaContextFailure(`CUDA failure ${what} ; GPU=0 ; hostname=here ; file=x.cc ; line=96`);
  expect(said('700: an illegal memory access was encountered')).toBe(
    'CUDA failure 700: an illegal memory access was encountered',
  );
  expect(said('719: unspecified launch failure')).toBeDefined();
  expect(said('2: out of memory')).toBeUndefined();
  expect(said('9: invalid configuration argument')).toBeUndefined();
  expect(cudaContextFailure('Non-zero status code returned while running Conv node')).toBeUndefined();
});

test('missing libraries are read from the output of ldd', () => {
  const text = '\tlibcublas.so.13 => not found\n\tlibm.so.6 => /lib/libm.so.6 (0x0)\n\tlibcudnn.so.9 => not found\n';
  expect(missingFrom(text)).toEqual(['libcublas.so.13', 'libcudnn.so.9']);
  expect(missingFrom('\tnot a dynamic executable\n')).toEqual([]);
});
