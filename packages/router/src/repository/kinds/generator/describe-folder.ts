/** Says whether a version folder holds a decoder that generates text. */
import { open, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type DecoderDescription,
  type DecoderFileName,
  type DecoderFiles,
  decoderFileNames,
  describeDecoder,
  ModelFileError,
  type NotDecoder,
} from '@millrace/generation';
import { datatypeFromElementType, type OnnxGraph, type OnnxTensor } from '@millrace/onnx';
import { messageFromFileError } from '@millrace/protocol';

/**
 * Throws a `ModelFileError` for a decoder that cannot be served as its files are.
 *
 * @param isDeclared the configuration says that the model is a generator
 */
export async function describeDecoderFolder(
  path: string,
  graph: OnnxGraph,
  isDeclared: boolean,
): Promise<DecoderDescription | NotDecoder> {
  const files = await readFiles(dirname(path));
  const [inputs, outputs] = [graph.inputs.map(tensorFrom), graph.outputs.map(tensorFrom)];
  return describeDecoder({ inputs, outputs, files, isDeclared, graphFile: basename(path) });
}

/** The tokenizer may have megabytes, and is read by workers; here only its presence counts. */
async function readFiles(folder: string): Promise<DecoderFiles> {
  const texts = decoderFileNames.map(async (name) => [name, await takeText(join(folder, name), name)] as const);
  return Object.fromEntries(await Promise.all(texts));
}

/** Undefined: there is no such file. */
async function takeText(path: string, name: DecoderFileName): Promise<string | undefined> {
  try {
    if (name !== 'tokenizer.json') return await readFile(path, 'utf8');
    const file = await open(path);
    await file.close();
    return '';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ModelFileError(name, messageFromFileError(error), { cause: error });
  }
}

function tensorFrom({ name, elementType, shape }: OnnxTensor) {
  return { name, datatype: datatypeFromElementType(elementType), shape };
}
