import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { cutZipMaps, hasInvalidText, readOnnxFile, separateDefaults } from '@millrace/onnx';
import type { LoadSpec } from '@millrace/protocol';
import { InferenceSession, type Tensor } from './onnxruntime.ts';
import { mayBeChanged } from './text-tensor.ts';

/** The model that a session is created from. */
export interface ModelSource {
  /** The path of the file, or a rewritten copy of its content. */
  readonly model: string | Uint8Array;
  /** Values of the inputs that a batch may leave out. */
  readonly defaults: ReadonlyMap<string, Tensor>;
  /** It has texts that are not UTF-8, which ONNX Runtime in Node returns changed. */
  readonly hasInvalidText: boolean;
}

/**
 * The file itself, unless ONNX Runtime in Node cannot serve it unchanged: it cannot pass the maps of a ZipMap, and it silently ignores a
 * value for an input that has an initializer. Such an initializer is removed from the model and passed to every run that has no other value.
 */
export async function modelSourceOf(spec: LoadSpec): Promise<ModelSource> {
  // Not only optional inputs: values that a configuration requires, or the server adds, would be ignored as well.
  const defaulted = await defaultedOf(spec.path);
  const names = spec.inputs.map(({ name }) => name).filter((name) => defaulted.has(name));
  const hasBadText = await hasBadTextToGive(spec, names);
  const plain = { defaults: new Map<string, Tensor>(), hasInvalidText: hasBadText };
  if (names.length === 0 && spec.cutsZipMaps !== true) return { model: spec.path, ...plain };
  const bytes = await readFile(spec.path);
  const whole = spec.cutsZipMaps === true ? await cutZipMaps(bytes) : bytes;
  if (names.length === 0) return { model: whole, ...plain };
  const separated = await separateDefaults(whole, names);
  const defaults = await valuesOf(separated.defaults, names, spec.path);
  if (hasBadText) mustBeTexts(defaults);
  return { model: separated.model, defaults, hasInvalidText: hasBadText };
}

/** Invalid texts matter only where they may be returned, or are taken out of the model to be passed to runs. */
async function hasBadTextToGive(spec: LoadSpec, defaulted: readonly string[]): Promise<boolean> {
  const fed = spec.inputs.filter(({ name }) => defaulted.includes(name));
  if (![...spec.outputs, ...fed].some(({ datatype }) => datatype === 'BYTES')) return false;
  // ONNX Runtime reports what is wrong with the file.
  return hasInvalidText(spec.path).catch(() => false);
}

function mustBeTexts(defaults: ReadonlyMap<string, Tensor>): void {
  for (const [name, { data }] of defaults) {
    if (ArrayBuffer.isView(data) || !(data as string[]).some(mayBeChanged)) continue;
    throw new Error(`the default value of input "${name}" is not valid UTF-8: export the model with texts in UTF-8`);
  }
}

/** Tells a model that is loaded from bytes where its external weight files are. */
export function externalFolderOption(path: string): Record<string, string> {
  return { model_external_initializers_file_folder_path: dirname(path) };
}

async function defaultedOf(path: string): Promise<ReadonlySet<string>> {
  try {
    return new Set((await readOnnxFile(path)).defaultedInputs.map(({ name }) => name));
  } catch {
    // ONNX Runtime reports what is wrong with the file.
    return new Set();
  }
}

async function valuesOf(model: Uint8Array, names: readonly string[], path: string): Promise<Map<string, Tensor>> {
  const session = await InferenceSession.create(model, { extra: { session: externalFolderOption(path) } });
  try {
    const values = await session.run({});
    return new Map(names.map((name) => [name, values[name] as Tensor]));
  } finally {
    await session.release();
  }
}
