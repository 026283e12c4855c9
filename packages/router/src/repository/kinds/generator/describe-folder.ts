/** Says whether a version folder holds a decoder that generates text. */
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type DecoderDescription,
  type DecoderFileName,
  type DecoderFiles,
  decoderFileNames,
  describeDecoder,
  type NotDecoder,
} from '@millrace/generation';
import { datatypeFromElementType, type OnnxGraph, type OnnxTensor } from '@millrace/onnx';

/** Throws a `ModelFileError` for a JSON file that cannot be used. */
export async function describeDecoderFolder(path: string, graph: OnnxGraph): Promise<DecoderDescription | NotDecoder> {
  const files = await readFiles(dirname(path));
  return describeDecoder({ inputs: graph.inputs.map(tensorFrom), outputs: graph.outputs.map(tensorFrom), files });
}

/** The tokenizer may have megabytes, and is read by workers; here only its presence counts. */
async function readFiles(folder: string): Promise<DecoderFiles> {
  const texts = decoderFileNames.map(async (name) => [name, await takeText(join(folder, name), name)] as const);
  return Object.fromEntries(await Promise.all(texts));
}

function takeText(path: string, name: DecoderFileName): Promise<string | undefined> {
  const text = name === 'tokenizer.json' ? access(path, constants.R_OK).then(() => '') : readFile(path, 'utf8');
  return text.catch(() => undefined);
}

function tensorFrom({ name, elementType, shape }: OnnxTensor) {
  return { name, datatype: datatypeFromElementType(elementType), shape };
}
