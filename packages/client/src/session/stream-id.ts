/** An id with 128 random bits: without authentication it is the credential of the stream. */
export function newStreamId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
