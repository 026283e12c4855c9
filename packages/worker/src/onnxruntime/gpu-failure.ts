/** What the engine says of a GPU that it cannot use, in words an operator can act on. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { GpuProvider, GpuSpec } from '@millrace/protocol';
import { takeLibraryFolder } from '../gpu-support.ts';

const lookMsMax = 10_000;

export const memoryFullMessage =
  'its memory is full; unload what else is there, lower max_batch_size, or have fewer millrace.gpu_batch_sizes';

/** The names of the libraries that a library needs and the system does not find; empty when that cannot be told. */
export type FindMissing = (provider: GpuProvider) => Promise<readonly string[]>;

export async function gpuFailureMessage(
  message: string,
  { provider }: GpuSpec,
  findMissing: FindMissing = missingLibraries,
): Promise<string> {
  // The engine prints which library it was, and does not tell its caller.
  if (message.includes('Failed to load shared library')) {
    const missing = await findMissing(provider);
    const library = `libonnxruntime_providers_${provider}.so`;
    if (missing.length === 0) return `${library} cannot be loaded; it must have the version of onnxruntime-node`;
    return `${library} needs ${missing.join(', ')}, not found here: install them, or put their folders on LD_LIBRARY_PATH`;
  }
  if (isMemoryFull(message)) return memoryFullMessage;
  // Between the names of functions and files stands one sentence.
  const failure = /(CUDA|CUBLAS|CUDNN|CURAND|CUFFT) failure \d+: [^;\n]+/.exec(message)?.[0].trim();
  if (failure === undefined) return message;
  const isAbsent = /device ordinal|CUDA-capable device/.test(failure);
  return isAbsent ? `${failure}; is it hidden by CUDA_VISIBLE_DEVICES, or lacks its driver?` : failure;
}

/**
 * CUDA's numbers for what ends its context in a process: memory that a kernel must not touch, an assertion in one, a
 * fault of the hardware, a GPU that is gone. Every later call fails with the same.
 */
const contextFailures: ReadonlySet<number> = new Set([46, 214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999]);

/** In CUDA's words; undefined for a failure of one run only. */
export function cudaContextFailure(message: string): string | undefined {
  const [failure, number] = /CUDA failure (\d+): [^;\n]+/.exec(message) ?? [];
  return contextFailures.has(Number(number)) ? failure?.trim() : undefined;
}

/** As the engine's own allocator, CUDA and its libraries say it. */
export function isMemoryFull(message: string): boolean {
  return /failed to allocate memory|out of memory|allocation failed|ALLOC_FAILED/i.test(message);
}

async function missingLibraries(provider: GpuProvider): Promise<readonly string[]> {
  const folder = takeLibraryFolder();
  if (folder === undefined) return [];
  try {
    const path = join(folder, `libonnxruntime_providers_${provider}.so`);
    const { stdout } = await promisify(execFile)('ldd', [path], { timeout: lookMsMax });
    return missingFrom(stdout);
  } catch {
    return [];
  }
}

/** From what `ldd` prints. */
export function missingFrom(text: string): readonly string[] {
  return [...text.matchAll(/^\s*(\S+) => not found/gm)].map((match) => match[1] ?? '');
}
