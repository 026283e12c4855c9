import { AnswerReader, unknownFlag } from '../rpc/message-reader.ts';
import type { RpcAnswerListener } from '../rpc/rpc-call.ts';

/** One call on a connection. */
export class CallStream {
  readonly id: number;
  readonly listener: RpcAnswerListener;
  readonly reader: AnswerReader;
  /** What the server allows to be sent. */
  sendWindow: number;
  /** What waits for the windows, and how far the first of it was sent. */
  pending: Uint8Array[] = [];
  pendingAt = 0;
  pendingBytes = 0;
  /** When nobody waits any more, by the clock of the connection's owner. */
  readonly deadlineAtMs: number;
  isEndDue: boolean = false;
  isLocalDone: boolean = false;
  isOver: boolean = false;
  hasHead: boolean = false;
  /** Received and not announced. */
  consumedBytes = 0;

  constructor(
    id: number,
    sendWindow: number,
    messageBytesMax: number,
    deadlineAtMs: number,
    listener: RpcAnswerListener,
  ) {
    this.id = id;
    this.sendWindow = sendWindow;
    this.deadlineAtMs = deadlineAtMs;
    this.listener = listener;
    this.reader = new AnswerReader((message, flag) => {
      if (flag !== 0) throw unknownFlag(flag);
      if (!this.isOver) listener.onMessage(message);
    }, messageBytesMax);
  }
}
