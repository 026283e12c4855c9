import type { HeaderField } from '@millrace/http2';
import type { MillraceError } from '../../errors/millrace-error.ts';
import { AnswerReader } from './message-reader.ts';

/** What happens on a stream of HTTP/2. `onEnd` comes once, and last. */
export interface CallListener {
  onMessage(message: Buffer): void;
  /** Trailers of gRPC, or why there are none. */
  onEnd(trailers: readonly HeaderField[], error: MillraceError | undefined): void;
}

/** One call on a connection. */
export class CallStream {
  readonly id: number;
  readonly listener: CallListener;
  readonly reader: AnswerReader;
  /** What the server allows to be sent. */
  sendWindow: number;
  /** What waits for the windows, and how far the first of it was sent. */
  pending: Uint8Array[] = [];
  pendingAt = 0;
  pendingBytes = 0;
  isEndDue: boolean = false;
  isLocalDone: boolean = false;
  isOver: boolean = false;
  hasHead: boolean = false;
  /** Received and not announced. */
  consumedBytes = 0;

  constructor(id: number, sendWindow: number, listener: CallListener) {
    this.id = id;
    this.sendWindow = sendWindow;
    this.listener = listener;
    this.reader = new AnswerReader((message) => {
      if (!this.isOver) listener.onMessage(message);
    });
  }
}
