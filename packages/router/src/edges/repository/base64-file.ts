import { InferenceError } from '@millrace/protocol';

/** The bytes of a file that JSON carries. Node's reader skips what is not base64; a file must not lose bytes that way. */
export function fileFromBase64(name: string, text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  if (text.length % 4 !== 0 || (text.length / 4) * 3 - padding !== bytes.length) {
    throw new InferenceError('invalid-request', `the content of '${name}' is not base64`);
  }
  return bytes;
}
