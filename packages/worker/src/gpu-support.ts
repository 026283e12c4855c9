/**
 * Finds out, without loading the engine, whether models can run on GPUs here: its npm package carries the CPU part only,
 * and the parts for CUDA and TensorRT are found by lying beside it.
 */
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type GpuSupport, noGpuSupport } from '@millrace/protocol';

export interface GpuSigns {
  /** Where the engine's own library lies; undefined when that cannot be told. */
  readonly libraryFolder: string | undefined;
  readonly deviceFolder: string;
}

/** `devicesMax`: no more GPUs are said to be there. */
export function findGpuSupport(devicesMax: number, signs: GpuSigns = signsOfThisMachine()): GpuSupport {
  const { libraryFolder, deviceFolder } = signs;
  if (libraryFolder === undefined) return noGpuSupport;
  const has = (provider: string): boolean => existsSync(join(libraryFolder, `libonnxruntime_providers_${provider}.so`));
  const hasCuda = has('shared') && has('cuda');
  return { hasCuda, hasTensorrt: hasCuda && has('tensorrt'), devices: Math.min(devicesMax, deviceCount(deviceFolder)) };
}

function signsOfThisMachine(): GpuSigns {
  return { libraryFolder: takeLibraryFolder(), deviceFolder: '/dev' };
}

/** The folder of the version of Node's interface, the platform and the architecture, in the engine's package. */
function takeLibraryFolder(): string | undefined {
  try {
    const binaries = join(dirname(createRequire(import.meta.url).resolve('onnxruntime-node')), '..', 'bin');
    const version = readdirSync(binaries).find((name) => name.startsWith('napi-v'));
    return version === undefined ? undefined : join(binaries, version, process.platform, process.arch);
  } catch {
    return undefined;
  }
}

function deviceCount(folder: string): number {
  try {
    return readdirSync(folder).filter((name) => /^nvidia\d+$/.test(name)).length;
  } catch {
    return 0;
  }
}
