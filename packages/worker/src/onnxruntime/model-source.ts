import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { cutZipMaps, hasInvalidText, readOnnxFile, separateDefaults } from '@millrace/onnx';
import type { LoadSpec } from '@millrace/protocol';
import { InferenceSession, type Tensor } from './onnxruntime.ts';
import { mayBeChanged } from './text-tensor.ts';

/** What a session is made from. */
export interface ModelSource {
  /** The file, or a rewritten copy of what is in it. */
  readonly model: string | Uint8Array;
  /** Values of the inputs that a batch may leave out. */
  readonly defaults: ReadonlyMap<string, Tensor>;
  /** It holds texts that are not UTF-8: ONNX Runtime in Node gives them out changed. */
  readonly hasInvalidText: boolean;
}

/**
 * The file itself, unless ONNX Runtime in Node cannot serve it as it is: it has no way to pass the maps of a ZipMap, and it drops without a
 * word what is fed to an input that has an initializer. Such an initializer is taken out of the model and fed with every run that is not given another value.
 */
export async function modelSourceOf(spec: LoadSpec): Promise<ModelSource> {
  // Not only those that callers may leave out: what a configuration requires, or the server gives, would be dropped just as well.
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

/** What the texts of a file are matters only where they may be given out, or taken out to be fed. */
async function hasBadTextToGive(spec: LoadSpec, defaulted: readonly string[]): Promise<boolean> {
  const fed = spec.inputs.filter(({ name }) => defaulted.includes(name));
  if (![...spec.outputs, ...fed].some(({ datatype }) => datatype === 'BYTES')) return false;
  // What is wrong with the file is for ONNX Runtime to say.
  return hasInvalidText(spec.path).catch(() => false);
}

function mustBeTexts(defaults: ReadonlyMap<string, Tensor>): void {
  for (const [name, { data }] of defaults) {
    if (ArrayBuffer.isView(data) || !(data as string[]).some(mayBeChanged)) continue;
    throw new Error(`the default value of input "${name}" is not valid UTF-8: export the model with texts in UTF-8`);
  }
}

/** Where a model that comes as bytes finds the weights that lie in files of their own. */
export function externalFolderOption(path: string): Record<string, string> {
  return { model_external_initializers_file_folder_path: dirname(path) };
}

async function defaultedOf(path: string): Promise<ReadonlySet<string>> {
  try {
    return new Set((await readOnnxFile(path)).defaultedInputs.map(({ name }) => name));
  } catch {
    // What is wrong with the file is for ONNX Runtime to say.
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
