import { InferenceError, JsonReader, type JsonSpan, quote, unescapedPart } from '@millrace/protocol';
import { type SliceGenerator, sliceBytes } from '../slices/slice-queue.ts';

/** Decodes a file from JSON. Node's decoder skips characters that are not base64; a file must not lose bytes that way. */
export function fileFromBase64(name: string, text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  if (text.length % 4 !== 0 || decodedBytes(text) !== bytes.length) throw notBase64(name);
  return bytes;
}

/** The same in slices, for a JSON string of any length. `grow` is called with the memory that it takes. */
export function* fileInSlices(
  name: string,
  json: Uint8Array,
  span: JsonSpan,
  grow: (bytes: number) => void,
): SliceGenerator<Uint8Array> {
  grow(bytesMaxOf(span));
  return yield* bytesInSlices(name, json, span);
}

/** Decodes a base64 string of a JSON text. */
export function* bytesInSlices(name: string, json: Uint8Array, span: JsonSpan): SliceGenerator<Uint8Array> {
  const reader = new JsonReader(json, span);
  const bytes = Buffer.allocUnsafeSlow(bytesMaxOf(span));
  let written = 0;
  // Characters that do not yet make up a group of four.
  let rest = '';
  reader.position += 1;
  for (let isClosed = false; !isClosed; ) {
    isClosed = reader.scanStringPart(reader.position + sliceBytes);
    const text = rest + unescapedPart(reader, isClosed);
    const whole = isClosed ? text.length : text.length - (text.length % 4);
    const part = text.slice(0, whole);
    rest = text.slice(whole);
    const partBytes = bytes.write(part, written, 'base64');
    // Only the last group may be padded.
    if (part.length % 4 !== 0 || partBytes !== decodedBytes(part) || (!isClosed && part.endsWith('='))) {
      throw notBase64(name);
    }
    written += partBytes;
    yield;
  }
  return bytes.subarray(0, written);
}

function bytesMaxOf({ start, end }: JsonSpan): number {
  return Math.ceil(((end - start) / 4) * 3);
}

function decodedBytes(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return (text.length / 4) * 3 - padding;
}

function notBase64(name: string): InferenceError {
  return new InferenceError('invalid-request', `the content of ${quote(name)} is not base64`);
}
