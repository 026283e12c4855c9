/** An answer as JSON with binary tensors behind it. Binary outputs leave from where they lie. */

import type { HeaderList } from '@millrace/http';
import { InferenceError, type JsonWriter, type Tensor, writeTensorData } from '@millrace/protocol';
import type { InferAnswer } from '../../data-plane/infer.ts';
import type { ModelView } from '../../registry/catalogue.ts';
import { type AnswerForm, formOf } from '../classification/answer-form.ts';
import { classify } from '../classification/classify.ts';
import type { EncodedAnswer } from './answer-template.ts';
import { headerLengthField } from './decode-request.ts';

export interface EncodeContext {
  readonly form: AnswerForm;
  /** The model that answered; needed only where something is to be classified. */
  readonly view: ModelView | undefined;
  readonly classificationElementsMax: number;
}

/** `writer` is left clean, also when this throws. */
export function encodeAnswer(answer: InferAnswer, context: EncodeContext, writer: JsonWriter): EncodedAnswer {
  try {
    const binary: Uint8Array[] = [];
    writer.beginObject();
    if (answer.id !== '') member(writer, 'id', answer.id);
    member(writer, 'model_name', answer.model);
    member(writer, 'model_version', answer.version);
    writer.key('outputs');
    writer.beginArray();
    for (const output of answer.outputs) writeOutput(writer, output, context, binary);
    writer.endArray();
    writer.endObject();
    const json = writer.take();
    let bytes = json.byteLength;
    for (const piece of binary) bytes += piece.byteLength;
    const headers = binary.length === 0 ? jsonFields : binaryFields(json.byteLength);
    return { pieces: [json, ...binary], jsonBytes: json.byteLength, bytes, headers };
  } catch (error) {
    writer.discard();
    throw error;
  }
}

const jsonFields: HeaderList = [['content-type', 'application/json']];

function binaryFields(jsonBytes: number): HeaderList {
  return [
    ['content-type', 'application/octet-stream'],
    [headerLengthField, String(jsonBytes)],
  ];
}

function writeOutput(writer: JsonWriter, output: Tensor, context: EncodeContext, binary: Uint8Array[]): void {
  const { isBinary, classes } = formOf(context.form, output.name);
  const tensor =
    classes > 0 && context.view !== undefined
      ? classify(output, classes, context.view, context.classificationElementsMax)
      : output;
  writer.beginObject();
  member(writer, 'name', tensor.name);
  member(writer, 'datatype', tensor.datatype);
  writer.key('shape');
  writer.beginArray();
  for (const dimension of tensor.shape) writer.number(dimension);
  writer.endArray();
  if (isBinary) {
    writer.key('parameters');
    writer.beginObject();
    writer.key('binary_data_size');
    writer.number(tensor.data.byteLength);
    writer.endObject();
    if (tensor.data.byteLength > 0) binary.push(tensor.data);
  } else {
    refuseHalfPrecision(tensor);
    writer.key('data');
    writeTensorData(writer, tensor);
  }
  writer.endObject();
}

function refuseHalfPrecision({ name, datatype }: Tensor): void {
  if (datatype !== 'FP16' && datatype !== 'BF16') return;
  throw new InferenceError(
    'invalid-request',
    `sending ${datatype} data via JSON is not supported. Please use the binary data format for output ${name}`,
  );
}

function member(writer: JsonWriter, key: string, value: string): void {
  writer.key(key);
  writer.string(value);
}
