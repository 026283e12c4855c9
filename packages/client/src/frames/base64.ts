/** Base64, in steps that `String.fromCharCode` takes. */
const stepBytes = 0x8000;

export function base64From(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += stepBytes) {
    text += String.fromCharCode(...bytes.subarray(at, at + stepBytes));
  }
  return btoa(text);
}

export function bytesFromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
