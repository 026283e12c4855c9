/** Reads the folder of a decoder: its description, its tokenizer, and its graph cut so that runs return only what is new. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type DecoderDescription,
  type DecoderFiles,
  type DecoderInput,
  decoderFileNames,
  describeDecoder,
  ModelFileError,
  TextTokenizer,
} from '@millrace/generation';
import { cutCacheOutputs, datatypeFromElementType, type OnnxTensor, readOnnxFile } from '@millrace/onnx';
import { UnloadableModel } from '../engine.ts';
import type { CacheTensors, DecoderTensors, TokenInput } from './decoder-tensors.ts';

export interface ReadDecoder {
  /** The path of the file, or its content without the outputs that were cut. */
  readonly model: string | Uint8Array;
  /** SHA-256 of the graph as it is run and of what the files beside it say about its tensors. */
  readonly digest: string;
  readonly tensors: DecoderTensors;
  readonly description: DecoderDescription;
  readonly tokenizer: TextTokenizer;
}

/** Throws what the operator has to change: `UnloadableModel`, `ModelFileError` or `OnnxFileError`. */
export async function readDecoder(path: string): Promise<ReadDecoder> {
  const files = await readFiles(dirname(path));
  const tokenizerText = files['tokenizer.json'];
  if (tokenizerText === undefined) throw new UnloadableModel('tokenizer.json is missing beside the model');
  const tokenizer = new TextTokenizer(tokenizerText);
  const graph = await readOnnxFile(path);
  const described = describeDecoder(
    {
      inputs: graph.inputs.map(graphTensorFrom),
      outputs: graph.outputs.map(graphTensorFrom),
      files,
      // The router has decided that it is a generator.
      isDeclared: true,
      graphFile: basename(path),
    },
    (token) => tokenizer.takeId(token),
  );
  if (described.kind === 'not-a-decoder') throw new UnloadableModel(`it is not a decoder: ${described.reason}`);
  checkVocabulary(tokenizer, described.vocabularySize);
  const bytes = await readFile(path);
  const { model, outputs } = await cutCacheOutputs(bytes);
  const newTokens = new Map(outputs.map(({ output, appended }) => [output, appended]));
  const tensors = tensorsOf(described, newTokens);
  return {
    model: outputs.length === 0 ? path : model,
    digest: createHash('sha256').update(model).update(JSON.stringify(tensors)).digest('hex'),
    tensors,
    description: described,
    tokenizer,
  };
}

/** A tokenizer of another model gives tokens that the graph does not have. Added tokens that it does not have are refused in texts. */
function checkVocabulary(tokenizer: TextTokenizer, vocabularySize: number): void {
  const { trainedVocabularySize } = tokenizer;
  if (trainedVocabularySize > vocabularySize) {
    throw new ModelFileError(
      'tokenizer.json',
      `has tokens with ids up to ${trainedVocabularySize - 1}, and the vocabulary of the graph has ${vocabularySize} tokens; use the tokenizer that the model was trained with`,
    );
  }
  const framing = tokenizer.encode('', true).find((id) => id >= vocabularySize);
  if (framing !== undefined) {
    throw new ModelFileError(
      'tokenizer.json',
      `puts the token ${framing} around every text, and the vocabulary of the graph has ${vocabularySize} tokens; use the tokenizer that the model was trained with`,
    );
  }
}

async function readFiles(folder: string): Promise<DecoderFiles> {
  const texts = await Promise.all(
    decoderFileNames.map(async (name) => [name, await takeText(join(folder, name))] as const),
  );
  return Object.fromEntries(texts);
}

async function takeText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function graphTensorFrom({ name, elementType, shape }: OnnxTensor) {
  return { name, datatype: datatypeFromElementType(elementType), shape };
}

/** @param newTokens by the name of an output that was cut, the tensor that the model returns instead */
function tensorsOf(decoder: DecoderDescription, newTokens: ReadonlyMap<string, string>): DecoderTensors {
  const { cache, logits } = decoder;
  const tensor = (input: string, output: string): CacheTensors => ({
    input,
    output: newTokens.get(output) ?? output,
    heads: cache?.heads ?? 0,
    headSize: cache?.headSize ?? 0,
    datatype: cache?.datatype ?? 'FP32',
  });
  return {
    inputIds: tokenInput(decoder.inputIds),
    attentionMask: decoder.attentionMask && tokenInput(decoder.attentionMask),
    positionIds: decoder.positionIds && tokenInput(decoder.positionIds),
    useCacheBranch: decoder.useCacheBranch?.name,
    sequenceLengths: decoder.sequenceLengths && tokenInput(decoder.sequenceLengths),
    totalSequenceLength: decoder.totalSequenceLength && tokenInput(decoder.totalSequenceLength),
    logitsToKeep: decoder.logitsToKeep && tokenInput(decoder.logitsToKeep),
    caches: (cache?.layers ?? []).flatMap(({ pastKey, pastValue, presentKey, presentValue }) => [
      tensor(pastKey, presentKey),
      tensor(pastValue, presentValue),
    ]),
    logits: { name: logits.name, datatype: logits.datatype },
    vocabulary: decoder.vocabularySize,
  };
}

function tokenInput({ name, datatype }: DecoderInput): TokenInput {
  return { name, datatype: datatype === 'INT32' ? 'INT32' : 'INT64' };
}
