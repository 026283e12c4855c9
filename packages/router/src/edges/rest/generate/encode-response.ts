/** Answers of Triton's generate extension: a JSON object with the outputs by name, plain or as an event. */
import type { HeaderList, HttpResponse } from '@millrace/http';
import { elementCount, JsonWriter, writeTensorData } from '@millrace/protocol';
import type { InferAnswer } from '../../../data-plane/infer.ts';
import { inferenceErrorFrom } from '../../routing/encode-error.ts';

export const eventHeaders: HeaderList = [
  ['content-type', 'text/event-stream; charset=utf-8'],
  ['cache-control', 'no-store'],
  ['x-accel-buffering', 'no'],
];

/** Releases the answer. An output with one element is that element, without a list around it. */
export function encodeGenerated({ model, version, id, outputs, release }: InferAnswer): Uint8Array {
  try {
    const pieces: Uint8Array[] = [];
    const head = { model_name: model, model_version: version, ...(id === '' ? {} : { id }) };
    pieces.push(Buffer.from(JSON.stringify(head).slice(0, -1)));
    for (const tensor of outputs) {
      const writer = new JsonWriter(128);
      writeTensorData(writer, tensor);
      const list = writer.take();
      pieces.push(Buffer.from(`,${JSON.stringify(tensor.name)}:`));
      pieces.push(elementCount(tensor.shape) === 1 ? list.subarray(1, -1) : list);
    }
    pieces.push(Buffer.from('}'));
    return Buffer.concat(pieces);
  } finally {
    release();
  }
}

export function generatedResponse(answer: InferAnswer): HttpResponse {
  return { status: 200, headers: [['content-type', 'application/json']], body: encodeGenerated(answer) };
}

export function generatedEvent(json: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from('data: '), json, Buffer.from('\n\n')]);
}

/** An error after the first answer: the status is sent by then. */
export function errorEvent(error: unknown): Uint8Array {
  return generatedEvent(Buffer.from(JSON.stringify({ error: inferenceErrorFrom(error).message })));
}
