/**
 * Tags and lengths of protobuf's binary form, for code that writes a few fields and reads or copies the rest as bytes.
 */

/** A number as a varint; a negative one as 64 bits. */
export function varint(value: number | bigint): Uint8Array {
  if (typeof value === 'bigint' || value < 0) return wideVarint(BigInt.asUintN(64, BigInt(value)));
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/** The tag and length of a field whose content has this many bytes: text, bytes or a message. */
export function delimitedHead(field: number, contentBytes: number): Uint8Array {
  const tag = varint(field * 8 + 2);
  const length = varint(contentBytes);
  const head = new Uint8Array(tag.length + length.length);
  head.set(tag);
  head.set(length, tag.length);
  return head;
}

function wideVarint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
