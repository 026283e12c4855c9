/** Writes protobuf wire format in chunks: what is copied from a file stays a view of it until all is joined. */
import { delimitedHead, varint } from '@millrace/protocol';

export type Chunks = readonly Uint8Array[];

/** A length-delimited field whose content is the chunks one after the other. */
export function delimitedField(number: number, content: Chunks): Uint8Array[] {
  return [delimitedHead(number, chunksBytes(content)), ...content];
}

export function textField(number: number, text: string): Uint8Array[] {
  return delimitedField(number, [Buffer.from(text)]);
}

export function numberField(number: number, value: number): Uint8Array[] {
  return [varint(number << 3), varint(value)];
}

/** A 64-bit integer with its sign. */
export function signedField(number: number, value: number): Uint8Array[] {
  return [varint(number << 3), varint(BigInt.asUintN(64, BigInt(value)))];
}

export function joinChunks(chunks: Chunks): Uint8Array {
  const joined = new Uint8Array(chunksBytes(chunks));
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.length;
  }
  return joined;
}

function chunksBytes(chunks: Chunks): number {
  let bytes = 0;
  for (const chunk of chunks) bytes += chunk.length;
  return bytes;
}
