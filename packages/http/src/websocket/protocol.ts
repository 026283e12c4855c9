/** What a frame says about itself, and why a connection is closed (RFC 6455, 5.2 and 7.4.1). */

export const opcode = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export function isControlFrame(head: Uint8Array): boolean {
  return ((head[0] as number) & 0x08) !== 0;
}

export function isFinalFrame(head: Uint8Array): boolean {
  return ((head[0] as number) & 0x80) !== 0;
}

export const closeCode = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  /** The peer's close frame had no code. Never sent. */
  none: 1005,
  /** The connection was lost without a close frame. Never sent. */
  lost: 1006,
  invalidText: 1007,
  policy: 1008,
  tooLarge: 1009,
  internal: 1011,
  tryAgainLater: 1013,
} as const;

/** A control frame has at most 125 bytes, and two of them are the code. */
const reasonBytesMax = 123;

/** The payload of a close frame; a reason that is too long is cut between two characters. */
export function closePayload(code: number, reason: string): Buffer {
  if (code === closeCode.none) return Buffer.alloc(0);
  let text = Buffer.from(reason);
  if (text.length > reasonBytesMax) {
    let end = reasonBytesMax;
    // Bytes of the form 10xxxxxx continue a character.
    while (((text[end] as number) & 0xc0) === 0x80) end--;
    text = text.subarray(0, end);
  }
  const payload = Buffer.allocUnsafe(2 + text.length);
  payload.writeUInt16BE(code);
  payload.set(text, 2);
  return payload;
}

/** Whether an application may close with this code. */
export function isSendableCloseCode(code: number): boolean {
  if (code >= 3000) return code <= 4999;
  return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014);
}
