/** What a connection is closed with. The reason names the code of the catalogue, because close codes are only numbers. */
import { closeCode } from '@millrace/http/websocket';
import { closeCodeOf, type InferenceError } from '@millrace/protocol';

export interface StreamClosing {
  readonly code: number;
  /** The protocol cuts it to 123 bytes. */
  readonly reason: string;
}

const afterEnded: StreamClosing = { code: closeCode.normal, reason: 'the stream has ended' };

/** Undefined: the client has been sent `ended`. */
export function closingOf(error: InferenceError | undefined): StreamClosing {
  if (error === undefined) return afterEnded;
  return { code: closeCodeOf(error.code), reason: `${error.code}: ${error.message}` };
}
