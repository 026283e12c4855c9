/**
 * Finds out, without loading the engine, whether models can run on GPUs here: its npm package has the CPU library only, and
 * the libraries for CUDA and TensorRT must be in the same folder.
 */
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type GpuSupport, noGpuSupport } from '@millrace/protocol';

export interface GpuSigns {
  /** `CUDA_VISIBLE_DEVICES` as workers get it; undefined: all devices are visible. */
  readonly visibleDevices?: string | undefined;
  /** The folder of the engine's own library; undefined: unknown. */
  readonly libraryFolder: string | undefined;
  readonly deviceFolder: string;
}

/** `devicesMax`: the most GPUs to report. */
export function findGpuSupport(devicesMax: number, given: Partial<GpuSigns> = {}): GpuSupport {
  const { libraryFolder, deviceFolder, visibleDevices } = { ...signsOfThisMachine(), ...given };
  if (libraryFolder === undefined) return noGpuSupport;
  const has = (provider: string): boolean => existsSync(join(libraryFolder, `libonnxruntime_providers_${provider}.so`));
  const hasCuda = has('shared') && has('cuda');
  const found = deviceCount(deviceFolder);
  const visible = visibleDevices === undefined ? found : visibleCount(visibleDevices, found);
  return { hasCuda, hasTensorrt: hasCuda && has('tensorrt'), devices: Math.min(devicesMax, visible) };
}

/** As CUDA reads it: numbers and identifiers, up to the first that is no device; those before it are numbered from 0. */
function visibleCount(list: string, found: number): number {
  const names = list.split(',').map((name) => name.trim());
  const end = names.findIndex((name) => !/^(GPU|MIG)-/.test(name) && !(/^\d+$/.test(name) && Number(name) < found));
  return end === -1 ? names.length : end;
}

function signsOfThisMachine(): GpuSigns {
  return { libraryFolder: takeLibraryFolder(), deviceFolder: '/dev' };
}

/** The folder in the engine's package for this Node-API version, platform and architecture. */
export function takeLibraryFolder(): string | undefined {
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
