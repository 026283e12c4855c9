/** What worker processes see of the environment of this one: where the libraries of GPUs lie and how they are set up. */

/** Of NVIDIA's own by name: keys for its services (`NVIDIA_API_KEY`) begin alike. */
const names =
  /^(LD_LIBRARY_PATH|(CUDA|CUDNN|CUBLAS|ORT)_\w+|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES|TF32_OVERRIDE))$/;

/** Nothing else: a worker has no business with the secrets that servers are often given there. */
export function workerEnvironment(environment: NodeJS.ProcessEnv = process.env): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && names.test(name)) passed[name] = value;
  }
  return passed;
}
