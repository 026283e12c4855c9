import type { HeaderList } from '../exchange.ts';
import type { ConnectionMemory } from '../wire/memory.ts';
import { type AnswerBody, WireExchange } from '../wire/wire-exchange.ts';
import type { Http1Connection } from './connection.ts';
import type { Http1Head } from './request-head.ts';
import { type Framing, fieldLines, interimHead } from './response-head.ts';

const lastChunk = '0\r\n\r\n';

/** One request of an HTTP/1.1 connection and its answer. */
export class Http1Exchange extends WireExchange {
  readonly #connection: Http1Connection;
  readonly head: Http1Head;
  #framing: Framing = 'none';
  #isContinueDue: boolean;
  isStarted: boolean = false;
  /** The application has ended its response. */
  isSettled: boolean = false;
  isDrainAwaited: boolean = false;

  constructor(connection: Http1Connection, head: Http1Head, memory: ConnectionMemory) {
    super(head, connection.transport.peer, memory, connection.host.bodies);
    this.#connection = connection;
    this.head = head;
    this.#isContinueDue = head.isContinueDue;
  }

  get isChunked(): boolean {
    return this.head.isChunked;
  }

  /** The client still waits for a 100 (Continue), so it may or may not send the body. */
  get isContinueDue(): boolean {
    return this.#isContinueDue;
  }

  override onBodyMoved(): void {
    this.#connection.transport.retarget?.();
  }

  override inform(status: number, headers: HeaderList): void {
    if (this.isStarted || this.abortReason !== undefined || this.version === '1.0') return;
    this.#connection.sendText(interimHead(status, headers));
  }

  override start(status: number, headers: HeaderList): void {
    if (this.isStarted || this.abortReason !== undefined) return;
    const isBodyless = isWithoutBody(status);
    const framing = isBodyless ? 'none' : this.version === '1.1' ? 'chunked' : 'close';
    this.#begin(status, headers, framing, 0);
  }

  override write(piece: Uint8Array, release?: () => void): boolean {
    if (this.isSettled || this.abortReason !== undefined || this.#isSilent) {
      release?.();
      return true;
    }
    const isChunk = this.#framing === 'chunked' && piece.length > 0;
    if (isChunk) this.#connection.sendText(`${piece.length.toString(16)}\r\n`);
    this.#send(piece, release);
    if (isChunk) this.#connection.sendText('\r\n');
    const hasRoom = this.#connection.isRoomy;
    if (!hasRoom) this.isDrainAwaited = true;
    return hasRoom;
  }

  override end(trailers?: HeaderList): void {
    if (this.isSettled) return;
    if (this.abortReason === undefined) {
      if (!this.isStarted) this.#begin(200, [], isWithoutBody(200) ? 'none' : 'length', 0);
      else if (this.#framing === 'chunked' && !this.#isSilent) {
        this.#connection.sendText(trailers === undefined ? lastChunk : `0\r\n${fieldLines(trailers)}\r\n`);
      }
    }
    this.#settle();
  }

  override answer(
    status: number,
    headers: HeaderList,
    body: AnswerBody,
    trailers: HeaderList | undefined,
    release: (() => void) | undefined,
  ): void {
    if (this.isSettled || this.isStarted || this.abortReason !== undefined) {
      release?.();
      this.end();
      return;
    }
    const pieces = body === undefined ? [] : body instanceof Uint8Array ? [body] : body;
    let bytes = 0;
    for (const piece of pieces) bytes += piece.length;
    if (isWithoutBody(status)) {
      // A 304 to a GET and an answer to a HEAD may declare the length that the body would have; a 204 may not.
      this.#begin(status, headers, 'none', 0);
      release?.();
    } else if (trailers !== undefined && this.version === '1.1') {
      this.#begin(status, headers, 'chunked', 0);
      for (const piece of pieces) this.write(piece);
      if (release !== undefined) this.#connection.whenTaken(release);
      this.end(trailers);
      return;
    } else {
      this.#begin(status, headers, 'length', bytes);
      let isCopied = true;
      if (!this.#isSilent) for (const piece of pieces) isCopied = this.#connection.send(piece) && isCopied;
      if (isCopied) release?.();
      else this.#connection.whenTaken(this.holdUnsent(bytes, release));
    }
    this.#settle();
  }

  override whenSent(release: () => void): void {
    this.#connection.whenTaken(release);
  }

  override abort(): void {
    this.isSettled = true;
    this.endMemory();
    this.#connection.destroy();
  }

  protected override credit(): void {
    this.#connection.onBodyRead();
  }

  protected override onBodyWanted(): void {
    if (this.#isContinueDue) {
      this.#isContinueDue = false;
      this.inform(100, []);
    }
    this.#connection.onBodyRead();
  }

  protected override onBodyDropped(): void {
    this.#connection.onBodyRead();
  }

  get #isSilent(): boolean {
    return this.method === 'HEAD' || this.#framing === 'none';
  }

  #begin(status: number, headers: HeaderList, framing: Framing, lengthBytes: number): void {
    const isKept = this.#connection.mayKeep(this, this.head.isKept) && framing !== 'close';
    const option = isKept ? (this.version === '1.0' ? 'keep-alive' : '') : 'close';
    this.#connection.sendHead(status, headers, framing, lengthBytes, option);
    this.#framing = framing;
    this.isStarted = true;
    if (!isKept) this.#connection.closeAfterAnswer();
  }

  #send(piece: Uint8Array, release: (() => void) | undefined): void {
    const isCopied = this.#connection.send(piece);
    if (isCopied) release?.();
    else this.#connection.whenTaken(this.holdUnsent(piece.length, release));
  }

  #settle(): void {
    this.isSettled = true;
    this.settleMemory();
    this.#connection.onAnswered(this);
  }
}

function isWithoutBody(status: number): boolean {
  return status === 204 || status === 304 || status < 200;
}
