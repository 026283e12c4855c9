/** How payloads of inputs, outputs and states become the bytes that a journal stores. The wire format implements it. */
import type { StreamPayload, StreamToken } from '@millrace/protocol';

export interface PayloadCodec {
  encodeInput(payload: StreamPayload): Uint8Array;
  decodeInput(bytes: Uint8Array): StreamPayload;
  /** A copy: the tensors may be released afterwards. */
  encodeOutput(payload: StreamPayload | StreamToken): Uint8Array;
  /** Views of the bytes. */
  decodeOutput(bytes: Uint8Array): StreamPayload | StreamToken;
}
