/** Converts BYTES tensors to and from the strings that ONNX Runtime takes in Node. Elements that a string cannot represent are refused. */
import { InferenceError } from '@millrace/protocol';

const lengthBytes = 4;
/** A byte order mark is part of the text: nothing may be dropped silently. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const wayOut = 'send binary data as a UINT8 tensor, or encoded as text (for instance base64)';

export function textsFrom(data: Uint8Array, count: number, name: string): string[] {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const texts: string[] = [];
  let at = 0;
  for (let index = 0; index < count; index++) {
    if (at + lengthBytes > data.length) throw wrongLength(name, count);
    const start = at + lengthBytes;
    at = start + view.getUint32(at, true);
    if (at > data.length) throw wrongLength(name, count);
    texts.push(textFrom(data.subarray(start, at), index, name));
  }
  if (at !== data.length) throw wrongLength(name, count);
  return texts;
}

function textFrom(bytes: Uint8Array, index: number, name: string): string {
  // The native side takes C strings, so it would truncate the element there.
  if (bytes.includes(0)) {
    throw new InferenceError('unsupported', `element ${index} of input "${name}" contains a zero byte: ${wayOut}`);
  }
  try {
    return decoder.decode(bytes);
  } catch {
    throw new InferenceError('unsupported', `element ${index} of input "${name}" is not valid UTF-8: ${wayOut}`);
  }
}

function wrongLength(name: string, count: number): InferenceError {
  return new InferenceError(
    'inference-failed',
    `the bytes of input "${name}" are not the ${count} elements of its shape`,
  );
}

/** Whether a text of ONNX Runtime may have been bytes that are not UTF-8: it replaces those by U+FFFD. */
export function mayBeChanged(text: string): boolean {
  return text.includes('\ufffd');
}

export function textBytes(texts: readonly string[]): number {
  let bytes = lengthBytes * texts.length;
  for (const text of texts) bytes += Buffer.byteLength(text);
  return bytes;
}

/** Writes the elements, which fill `target` exactly. */
export function writeTexts(texts: readonly string[], target: Uint8Array): void {
  const buffer = Buffer.from(target.buffer, target.byteOffset, target.byteLength);
  let at = 0;
  for (const text of texts) {
    const written = buffer.write(text, at + lengthBytes);
    buffer.writeUInt32LE(written, at);
    at += lengthBytes + written;
  }
}
