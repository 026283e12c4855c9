/** The environment variables that worker processes get: the location and the settings of GPU libraries. */

/** NVIDIA's variables by their full names: keys for its services (`NVIDIA_API_KEY`) have the same prefix. */
const names =
  /^(LD_LIBRARY_PATH|(CUDA|CUDNN|CUBLAS|ORT)_\w+|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES|TF32_OVERRIDE))$/;

/** Nothing else: environments of servers often hold secrets, which workers do not need. */
export function workerEnvironment(environment: NodeJS.ProcessEnv = process.env): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && names.test(name)) passed[name] = value;
  }
  return passed;
}

/**
 * Workers of generators also ask for large pages, where the C library is GNU's (2.35) and the system offers them. A run reads all weights
 * and all caches, and each cache gets a few bytes at many places: with pages of 4 KiB most of them are looked up anew each time.
 */
export function generatorEnvironment(environment: NodeJS.ProcessEnv = process.env): Readonly<Record<string, string>> {
  return { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1', ...workerEnvironment(environment) };
}
