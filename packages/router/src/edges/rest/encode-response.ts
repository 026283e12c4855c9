/** An answer as JSON, followed by binary tensors. Binary outputs are sent without a copy. */

import type { HeaderList } from '@millrace/http';
import {
  InferenceError,
  type JsonWriter,
  quotedCharactersMax,
  shortened,
  type Tensor,
  writeTensorData,
  writeTensorSteps,
} from '@millrace/protocol';
import type { InferAnswer } from '../../data-plane/infer.ts';
import type { ModelView } from '../../model/model-view.ts';
import { type AnswerForm, formOf } from '../classification/answer-form.ts';
import { type ClassificationLimits, classifiedAtOnceBytesMax, classify } from '../classification/classify.ts';
import { doAtOnce, type SliceGenerator } from '../slices/slice-queue.ts';
import type { EncodedAnswer } from './answer-template.ts';
import { headerLengthField } from './decode-request.ts';

export interface EncodeOptions {
  readonly form: AnswerForm;
  /** The model that answered; needed only where something is to be classified. */
  readonly view: ModelView | undefined;
  readonly limits: ClassificationLimits;
}

/** Bytes of an output that are written as JSON at once. */
const atOnceBytesMax = 32 * 1024;

/** Whether writing the answer would take too long for one turn of the event loop. */
export function isLongToEncode({ outputs }: InferAnswer, form: AnswerForm): boolean {
  for (const { name, data } of outputs) {
    if (data.byteLength <= classifiedAtOnceBytesMax) continue;
    const { isBinary, classes } = formOf(form, name);
    if (classes > 0 || (!isBinary && data.byteLength > atOnceBytesMax)) return true;
  }
  return false;
}

/** `writer` is empty afterwards, also when this throws. */
export function encodeAnswer(answer: InferAnswer, options: EncodeOptions, writer: JsonWriter): EncodedAnswer {
  const { form, view, limits } = options;
  try {
    const binary: Uint8Array[] = [];
    beginAnswer(writer, answer);
    for (const output of answer.outputs) {
      const { isBinary, classes } = formOf(form, output.name);
      const isClassified = classes > 0 && view !== undefined;
      const tensor = isClassified ? doAtOnce(classify(output, classes, view, limits)) : output;
      writeHead(writer, tensor, isBinary, binary);
      if (!isBinary) writeTensorData(writer, tensor);
      writer.endObject();
    }
    endAnswer(writer);
    return encodedFrom([writer.take()], binary);
  } catch (error) {
    writer.discard();
    throw error;
  }
}

/**
 * The same in slices, each of which is a piece of the JSON. Nobody else may use the writer meanwhile. `hold` gets the bytes of each
 * piece when it is made, and may throw: as JSON an output may have five times its bytes and more.
 */
export function* encodeAnswerInSlices(
  answer: InferAnswer,
  options: EncodeOptions,
  writer: JsonWriter,
  hold: (bytes: number) => void,
): SliceGenerator<EncodedAnswer> {
  const { form, view, limits } = options;
  const binary: Uint8Array[] = [];
  const json: Uint8Array[] = [];
  beginAnswer(writer, answer);
  for (const output of answer.outputs) {
    const { isBinary, classes } = formOf(form, output.name);
    const isClassified = classes > 0 && view !== undefined;
    const tensor = isClassified ? yield* classify(output, classes, view, limits) : output;
    writeHead(writer, tensor, isBinary, binary);
    if (!isBinary) {
      for (const _ of writeTensorSteps(writer, tensor)) {
        const piece = writer.takePart();
        hold(piece.byteLength);
        json.push(piece);
        yield;
      }
    }
    writer.endObject();
  }
  endAnswer(writer);
  json.push(writer.take());
  return encodedFrom(json, binary);
}

function beginAnswer(writer: JsonWriter, { id, model, version }: InferAnswer): void {
  writer.beginObject();
  if (id !== '') member(writer, 'id', id);
  member(writer, 'model_name', model);
  member(writer, 'model_version', version);
  writer.key('outputs');
  writer.beginArray();
}

function endAnswer(writer: JsonWriter): void {
  writer.endArray();
  writer.endObject();
}

function encodedFrom(json: readonly Uint8Array[], binary: readonly Uint8Array[]): EncodedAnswer {
  let jsonBytes = 0;
  for (const piece of json) jsonBytes += piece.byteLength;
  let bytes = jsonBytes;
  for (const piece of binary) bytes += piece.byteLength;
  const headers = binary.length === 0 ? jsonFields : binaryFields(jsonBytes);
  return { pieces: [...json, ...binary], jsonBytes, bytes, headers, hasBinary: binary.length > 0 };
}

const jsonFields: HeaderList = [['content-type', 'application/json']];

function binaryFields(jsonBytes: number): HeaderList {
  return [
    ['content-type', 'application/octet-stream'],
    [headerLengthField, String(jsonBytes)],
  ];
}

/** The object of an output up to its data, which is due next unless it is binary. */
function writeHead(writer: JsonWriter, tensor: Tensor, isBinary: boolean, binary: Uint8Array[]): void {
  writer.beginObject();
  member(writer, 'name', tensor.name);
  member(writer, 'datatype', tensor.datatype);
  writer.key('shape');
  writer.beginArray();
  for (const dimension of tensor.shape) writer.number(dimension);
  writer.endArray();
  if (!isBinary) {
    refuseHalfPrecision(tensor);
    writer.key('data');
    return;
  }
  writer.key('parameters');
  writer.beginObject();
  writer.key('binary_data_size');
  writer.number(tensor.data.byteLength);
  writer.endObject();
  if (tensor.data.byteLength > 0) binary.push(tensor.data);
}

function refuseHalfPrecision({ name, datatype }: Tensor): void {
  if (datatype !== 'FP16' && datatype !== 'BF16') return;
  throw new InferenceError(
    'invalid-request',
    `sending ${datatype} data via JSON is not supported. Please use the binary data format for output ${shortened(name, quotedCharactersMax)}`,
  );
}

function member(writer: JsonWriter, key: string, value: string): void {
  writer.key(key);
  writer.string(value);
}
