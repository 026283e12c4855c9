/** The C interface of ONNX Runtime, in the library that its package for Node brings along. */
import '../telemetry-off.ts';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type NativeFunction, type NativeLibrary, openNativeLibrary } from '@millrace/shared-memory';

/** The version of the interface that the positions below belong to; later libraries still have it. */
const interfaceVersion = 30;
/** The folder of the library in the package, for the version of Node's own interface that it was built for. */
const binaryFolder = '../bin/napi-v6';
const logSeverityFatal = 4;
/** Memory of the C library, by its two enumerations. */
const deviceAllocator = 0;
const defaultMemory = 0;

/** By name: its position in the table of functions, and its signature. Functions that can fail return the address of a status. */
const functions = {
  getErrorMessage: [2, 'const char *(void *status)'],
  createEnv: [3, 'void *(int severity, const char *id, void *out)'],
  createSession: [7, 'void *(void *env, const char *path, void *options, void *out)'],
  createSessionFromArray: [8, 'void *(void *env, void *bytes, size_t length, void *options, void *out)'],
  run: [
    9,
    'void *(void *session, void *options, void *inputNames, void *inputs, size_t inputCount, void *outputNames, size_t outputCount, void *outputs)',
  ],
  createSessionOptions: [10, 'void *(void *out)'],
  setLogSeverity: [22, 'void *(void *options, int severity)'],
  setIntraOpThreads: [24, 'void *(void *options, int threads)'],
  inputCount: [30, 'void *(void *session, void *out)'],
  outputCount: [31, 'void *(void *session, void *out)'],
  inputType: [33, 'void *(void *session, size_t index, void *out)'],
  outputType: [34, 'void *(void *session, size_t index, void *out)'],
  inputName: [36, 'void *(void *session, size_t index, void *allocator, void *out)'],
  outputName: [37, 'void *(void *session, size_t index, void *allocator, void *out)'],
  createTensor: [
    49,
    'void *(void *memory, void *data, size_t bytes, void *shape, size_t rank, int elementType, void *out)',
  ],
  tensorData: [51, 'void *(void *value, void *out)'],
  tensorInfoOfType: [55, 'void *(void *type, void *out)'],
  elementType: [60, 'void *(void *info, void *out)'],
  rank: [61, 'void *(void *info, void *out)'],
  dimensions: [62, 'void *(void *info, void *out, size_t rank)'],
  symbolicDimensions: [63, 'void *(void *info, void *out, size_t rank)'],
  tensorInfoOfValue: [65, 'void *(void *value, void *out)'],
  createMemoryInfo: [69, 'void *(int allocator, int kind, void *out)'],
  free: [76, 'void *(void *allocator, void *at)'],
  defaultAllocator: [78, 'void *(void *out)'],
  releaseStatus: [93, 'void (void *status)'],
  releaseSession: [95, 'void (void *session)'],
  releaseValue: [96, 'void (void *value)'],
  releaseType: [98, 'void (void *type)'],
  releaseTensorInfo: [99, 'void (void *info)'],
  releaseSessionOptions: [100, 'void (void *options)'],
  addConfigEntry: [130, 'void *(void *options, const char *key, const char *value)'],
} as const satisfies Record<string, readonly [position: number, signature: string]>;

type FunctionName = keyof typeof functions;

export class EngineInterface {
  readonly library: NativeLibrary;
  readonly calls: Readonly<Record<FunctionName, NativeFunction>>;
  readonly env: bigint;
  readonly memoryInfo: bigint;
  readonly allocator: bigint;
  readonly #out = new BigUint64Array(1);

  constructor(library: NativeLibrary) {
    this.library = library;
    this.calls = callsOf(library);
    const { createEnv, createMemoryInfo, defaultAllocator } = this.calls;
    this.env = this.mustMake((out) => createEnv(logSeverityFatal, 'millrace', out));
    this.memoryInfo = this.mustMake((out) => createMemoryInfo(deviceAllocator, defaultMemory, out));
    this.allocator = this.mustMake((out) => defaultAllocator(out));
  }

  /** What the function writes to `out`: an address, or a number of 64 bits. */
  mustMake(call: (out: BigUint64Array) => bigint | null): bigint {
    this.#out[0] = 0n;
    this.mustSucceed(call(this.#out));
    return this.#out[0] as bigint;
  }

  /** Throws with the message of the engine. */
  mustSucceed(status: bigint | null): void {
    if (status === null) return;
    const message = String(this.calls.getErrorMessage(status));
    this.calls.releaseStatus(status);
    throw new Error(message);
  }
}

function callsOf(library: NativeLibrary): EngineInterface['calls'] {
  // A struct of two functions: the first returns the table of a version, null where the library is too old for it.
  const [getTable] = library.readAddresses(library.exported('void *OrtGetApiBase()')(), 1) as [bigint];
  const table = library.at(getTable, 'void *OrtGetApi(uint32_t version)')(interfaceVersion) as bigint | null;
  if (table === null) throw new Error(`its interface is older than version ${interfaceVersion}`);
  const names = Object.keys(functions) as FunctionName[];
  const addresses = library.readAddresses(table, 1 + Math.max(...names.map((name) => functions[name][0])));
  const calls: Partial<Record<FunctionName, NativeFunction>> = {};
  for (const name of names) {
    const [position, signature] = functions[name];
    calls[name] = library.at(addresses[position] as bigint, signature.replace('(', `Ort_${name}(`));
  }
  return calls as EngineInterface['calls'];
}

let taken: EngineInterface | null | undefined;

/** Undefined where the library is not found, or cannot be called: then the engine's binding for Node must be used. */
export function takeEngineInterface(): EngineInterface | undefined {
  if (taken === undefined) {
    try {
      taken = new EngineInterface(openNativeLibrary(libraryPath()));
    } catch {
      taken = null;
    }
  }
  return taken ?? undefined;
}

/** Throws on other systems: the names of the library differ there. */
function libraryPath(): string {
  if (process.platform !== 'linux') throw new Error(`there is no such library for ${process.platform}`);
  const entry = createRequire(import.meta.url).resolve('onnxruntime-node');
  return join(dirname(entry), binaryFolder, process.platform, process.arch, 'libonnxruntime.so.1');
}
