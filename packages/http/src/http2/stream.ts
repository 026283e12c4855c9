import { errorCode } from '@millrace/http2';
import type { HeaderList } from '../exchange.ts';
import { type AnswerBody, type RequestHead, WireExchange } from '../wire/wire-exchange.ts';
import type { Http2Connection } from './connection.ts';

/** What waits to be sent: pieces, and after a piece the callback that releases its memory. */
type PendingItem = Uint8Array | (() => void);

const nothingPending: PendingItem[] = [];

/** One stream of a connection. It sends through the connection's sender and receives from the connection. */
export class Http2Stream extends WireExchange {
  readonly id: number;
  readonly connection: Http2Connection;
  readonly bornMs: number;
  /** What the client allows us to send. */
  sendWindow: number;
  /** What we allow the client to send, and what of it was consumed but not announced yet. */
  receiveWindow: number;
  unannouncedBytes = 0;
  bodyBytes = 0;
  /** Body bytes when the rate was last checked, and when that was; -1: with the check of the connection, and none was due. */
  rateCheckedBytes = 0;
  rateCheckedMs: number;

  pending: PendingItem[] = nothingPending;
  pendingAt = 0;
  pendingOffset = 0;
  pendingBytes = 0;
  /** Whether the output refers to memory of pieces, or did: whatever is called back waits until the kernel has them. */
  isReferenced: boolean = false;
  sentBytes = 0;
  /** The same of the client's reading rate. */
  paceBytes = 0;
  paceMs: number;
  trailersToSend: HeaderList | undefined = undefined;
  isReady: boolean = false;
  isDrainAwaited: boolean = false;
  isStarted: boolean = false;
  /** The application has ended its response; frames may still wait. */
  isSettled: boolean = false;
  /** END_STREAM has been sent, or the stream was reset. */
  isLocalEnded: boolean = false;
  isClosed: boolean = false;
  /** Frames of its body were not as long as expected. */
  hasOddFrames: boolean = false;
  #isContinueDue: boolean;

  constructor(
    id: number,
    connection: Http2Connection,
    head: RequestHead,
    windows: { readonly send: number; readonly receive: number },
    isContinueDue: boolean,
    nowMs: number,
  ) {
    super(head, connection.peer, connection.memoryFor(head), connection.host.bodies);
    this.id = id;
    this.connection = connection;
    this.sendWindow = windows.send;
    this.receiveWindow = windows.receive;
    this.#isContinueDue = isContinueDue;
    this.bornMs = nowMs;
    this.rateCheckedMs = nowMs;
    this.paceMs = nowMs;
  }

  override onBodyMoved(): void {
    this.connection.transport.retarget?.();
  }

  override inform(status: number, headers: HeaderList): void {
    if (this.isClosed || this.isStarted) return;
    this.connection.sender.sendInterim(this, status, headers);
    this.connection.flushSoon();
  }

  override start(status: number, headers: HeaderList): void {
    if (this.isClosed || this.isStarted) return;
    this.connection.sender.sendHead(this, status, headers, -1, false);
    this.connection.flushSoon();
  }

  override write(piece: Uint8Array, release?: () => void): boolean {
    if (this.isClosed || this.isSettled || this.method === 'HEAD') {
      release?.();
      return true;
    }
    const hasRoom = this.connection.sender.enqueue(this, piece, release);
    if (!hasRoom) this.isDrainAwaited = true;
    this.connection.flushSoon();
    return hasRoom;
  }

  override end(trailers?: HeaderList): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.settleMemory();
    if (this.isClosed) this.connection.onStreamSettled();
    else {
      this.trailersToSend = this.method === 'HEAD' ? undefined : trailers;
      if (this.pendingBytes === 0) this.connection.sender.sendEnd(this);
      this.connection.flushSoon();
    }
  }

  override answer(
    status: number,
    headers: HeaderList,
    body: AnswerBody,
    trailers: HeaderList | undefined,
    release: (() => void) | undefined,
  ): void {
    if (this.isSettled || this.isClosed || this.isStarted) {
      release?.();
      this.end();
      return;
    }
    this.connection.sender.sendAnswer(this, status, headers, body, trailers, release);
    this.connection.flushSoon();
  }

  override whenSent(release: () => void): void {
    if (this.connection.isClosed) release();
    else if (this.pendingBytes === 0) this.connection.sender.output.whenTaken(release);
    else this.addPending(release);
    this.connection.flushSoon();
  }

  override abort(): void {
    const wasSettled = this.isSettled;
    this.isSettled = true;
    this.endMemory();
    if (!this.isClosed) this.connection.resetStream(this, errorCode.internalError, 'aborted by the server');
    else if (!wasSettled) this.connection.onStreamSettled();
  }

  protected override credit(bytes: number): void {
    this.connection.creditStream(this, bytes);
  }

  protected override onBodyWanted(): void {
    this.rateCheckedMs = this.connection.nowMs;
    if (!this.#isContinueDue) return;
    this.#isContinueDue = false;
    this.inform(100, []);
  }

  protected override onBodyDropped(bytes: number): void {
    this.connection.creditConnection(bytes);
  }

  addPending(item: PendingItem): void {
    if (this.pending === nothingPending) this.pending = [];
    this.pending.push(item);
  }

  /** Everything pending has been sent. */
  clearPending(): void {
    this.pending = nothingPending;
    this.pendingAt = 0;
    this.pendingOffset = 0;
  }

  /**
   * Nothing pending will be sent: its memory is released, at once only if the output refers to none of it. A part that was sent may
   * still wait for the kernel, which takes it from where it is.
   */
  dropPending(): void {
    const dropped = this.pending;
    const from = this.pendingAt;
    this.clearPending();
    this.pendingBytes = 0;
    for (let at = from; at < dropped.length; at++) {
      const item = dropped[at];
      if (typeof item !== 'function') continue;
      if (this.isReferenced) this.connection.sender.output.whenTaken(item);
      else item();
    }
  }
}
