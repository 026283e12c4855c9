/** A ModelInferResponse in protobuf's JSON, in slices: tensors are base64 and may be large. */
import { JsonWriter } from '@millrace/protocol';
import type { SliceGenerator } from '../slices/slice-queue.ts';
import type { InferResponse } from './encode-response.ts';

/** An answer that is already encoded. */
export class JsonResponse {
  readonly pieces: readonly Uint8Array[];

  constructor(pieces: readonly Uint8Array[]) {
    this.pieces = pieces;
  }
}

/** Bytes of a tensor that are written in a slice: whole groups of three, so that only the last is padded. */
const sliceBytes = 3 * 64 * 1024;

/** Whether the answer is too large to be written at once. */
export function isLongAsJson({ outputs }: InferResponse): boolean {
  let bytes = 0;
  for (const { data } of outputs) bytes += data.byteLength;
  return bytes > sliceBytes;
}

/** Empty fields are left out, as in protobuf's JSON. */
export function* encodeJson({ model, version, id, outputs }: InferResponse): SliceGenerator<JsonResponse> {
  const writer = new JsonWriter();
  const pieces: Uint8Array[] = [];
  writer.beginObject();
  text(writer, 'modelName', model);
  text(writer, 'modelVersion', version);
  text(writer, 'id', id);
  if (outputs.length > 0) {
    writer.key('outputs');
    writer.beginArray();
    for (const { name, datatype, shape } of outputs) {
      writer.beginObject();
      text(writer, 'name', name);
      text(writer, 'datatype', datatype);
      if (shape.length > 0) {
        writer.key('shape');
        writer.beginArray();
        for (const dimension of shape) writer.string(String(dimension));
        writer.endArray();
      }
      writer.endObject();
    }
    writer.endArray();
    writer.key('rawOutputContents');
    writer.beginArray();
    for (const { data } of outputs) {
      writer.beginValue();
      pieces.push(writer.takePart(), quoteMark);
      for (let from = 0; from < data.length; from += sliceBytes) {
        if (from > 0) yield;
        const part = data.subarray(from, from + sliceBytes);
        pieces.push(Buffer.from(Buffer.from(part.buffer, part.byteOffset, part.length).toString('base64'), 'latin1'));
      }
      pieces.push(quoteMark);
      writer.endValue();
    }
    writer.endArray();
  }
  writer.endObject();
  pieces.push(writer.take());
  return new JsonResponse(pieces);
}

const quoteMark = Buffer.from('"');

function text(writer: JsonWriter, key: string, value: string): void {
  if (value === '') return;
  writer.key(key);
  writer.string(value);
}
