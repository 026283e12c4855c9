/** Turns the engine's GPU errors into messages that an operator can act on. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { GpuProvider, GpuSpec } from '@millrace/protocol';
import { takeLibraryFolder } from '../gpu-support.ts';

const lddMsMax = 10_000;

export const memoryFullMessage =
  'the GPU memory is full; unload other models, lower max_batch_size, or set fewer millrace.gpu_batch_sizes';

/** The names of the libraries that a provider's library needs and the system does not find; empty: none, or unknown. */
export type FindMissing = (provider: GpuProvider) => Promise<readonly string[]>;

export async function gpuFailureMessage(
  message: string,
  { provider }: GpuSpec,
  findMissing: FindMissing = missingLibraries,
): Promise<string> {
  // The engine logs which library it was, but does not return it to its caller.
  if (message.includes('Failed to load shared library')) {
    const missing = await findMissing(provider);
    const library = `libonnxruntime_providers_${provider}.so`;
    if (missing.length === 0) return `${library} cannot be loaded; it must have the same version as onnxruntime-node`;
    return `${library} needs ${missing.join(', ')}, which were not found: install them, or add their folders to LD_LIBRARY_PATH`;
  }
  if (isMemoryFull(message)) return memoryFullMessage;
  // The error text is between the names of functions and files.
  const failure = /(CUDA|CUBLAS|CUDNN|CURAND|CUFFT) failure \d+: [^;\n]+/.exec(message)?.[0].trim();
  if (failure === undefined) return message;
  const isAbsent = /device ordinal|CUDA-capable device/.test(failure);
  return isAbsent ? `${failure}; check CUDA_VISIBLE_DEVICES and the driver` : failure;
}

/**
 * CUDA's error numbers that destroy its context in a process: illegal memory access of a kernel, an assertion in one, a
 * hardware fault, a lost GPU. Every later call fails with the same error.
 */
const contextFailures: ReadonlySet<number> = new Set([46, 214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 999]);

/** CUDA's text of such an error; undefined for a failure of one run only. */
export function cudaContextFailure(message: string): string | undefined {
  const [failure, number] = /CUDA failure (\d+): [^;\n]+/.exec(message) ?? [];
  return contextFailures.has(Number(number)) ? failure?.trim() : undefined;
}

/** Matches the texts of the engine's own allocator, CUDA and its libraries. */
export function isMemoryFull(message: string): boolean {
  return /failed to allocate memory|out of memory|allocation failed|ALLOC_FAILED/i.test(message);
}

async function missingLibraries(provider: GpuProvider): Promise<readonly string[]> {
  const folder = takeLibraryFolder();
  if (folder === undefined) return [];
  try {
    const path = join(folder, `libonnxruntime_providers_${provider}.so`);
    const { stdout } = await promisify(execFile)('ldd', [path], { timeout: lddMsMax });
    return missingFrom(stdout);
  } catch {
    return [];
  }
}

/** From the output of `ldd`. */
export function missingFrom(text: string): readonly string[] {
  return [...text.matchAll(/^\s*(\S+) => not found/gm)].map((match) => match[1] ?? '');
}
