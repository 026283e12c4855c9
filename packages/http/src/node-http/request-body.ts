import type { IncomingMessage, ServerResponse } from 'node:http';
import { BodyAborted, BodyTooLarge, type RequestBody } from '../exchange.ts';

type Use = 'unread' | 'read' | 'discarded';

/**
 * The body of a `node:http` request. Nothing flows before somebody asks, so a handler that does not read pushes back
 * on the client; a client that waits for `100 Continue` gets it at the first read and not before.
 */
export class NodeRequestBody implements RequestBody {
  readonly lengthBytes: number | undefined;
  readonly #message: IncomingMessage;
  #awaitsContinue: ServerResponse | undefined;
  #use: Use = 'unread';

  constructor(message: IncomingMessage, awaitsContinue: ServerResponse | undefined) {
    this.#message = message;
    this.#awaitsContinue = awaitsContinue;
    this.lengthBytes = declaredLengthBytes(message);
  }

  /** Whether the client still holds its body back, waiting for a word that will not come. */
  get isHeldBack(): boolean {
    return this.#awaitsContinue !== undefined;
  }

  readAll(bytesMax: number): Promise<Uint8Array> {
    this.#claim();
    if (this.lengthBytes !== undefined && this.lengthBytes > bytesMax) {
      return Promise.reject(new BodyTooLarge(bytesMax));
    }
    this.#continue();
    return this.lengthBytes === undefined ? this.#collect(bytesMax) : this.#fill(this.lengthBytes);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#claim();
    this.#continue();
    return new BodyPieces(this.#message);
  }

  /** Reads and drops what is left; past `bytesMax` the connection is cut, so no client can feed a finished request forever. */
  discard(bytesMax: number): void {
    const message = this.#message;
    if (this.#use === 'discarded' || message.complete || message.destroyed) return;
    this.#use = 'discarded';
    let bytes = 0;
    message.removeAllListeners('data');
    message.on('data', (piece: Uint8Array) => {
      bytes += piece.byteLength;
      if (bytes > bytesMax) message.socket.destroy();
    });
    // Marks the message as consumed at once: node:http would otherwise drop the rest itself, without counting.
    message.read(0);
    message.resume();
  }

  #claim(): void {
    if (this.#use !== 'unread') throw new Error('a request body can be read once: whole, or piece by piece');
    this.#use = 'read';
  }

  #continue(): void {
    this.#awaitsContinue?.writeContinue();
    this.#awaitsContinue = undefined;
  }

  /**
   * One copy into memory of the declared size. The pages of that memory become real only as bytes arrive, so a client
   * that declares much and sends nothing costs address space.
   */
  #fill(lengthBytes: number): Promise<Uint8Array> {
    let whole: Uint8Array | undefined;
    let bytes = 0;
    return this.#eachPiece(
      (piece) => {
        // A body that came in one piece is that piece: nothing is copied.
        if (bytes === 0 && piece.byteLength === lengthBytes) whole = piece;
        else {
          whole ??= Buffer.allocUnsafeSlow(lengthBytes);
          whole.set(piece, bytes);
        }
        bytes += piece.byteLength;
        return undefined;
      },
      () => whole ?? new Uint8Array(0),
    );
  }

  #collect(bytesMax: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    return this.#eachPiece(
      (piece) => {
        bytes += piece.byteLength;
        if (bytes > bytesMax) return new BodyTooLarge(bytesMax);
        pieces.push(piece);
        return undefined;
      },
      () => (pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces, bytes)),
    );
  }

  #eachPiece(take: (piece: Uint8Array) => Error | undefined, result: () => Uint8Array): Promise<Uint8Array> {
    const message = this.#message;
    return new Promise((resolve, reject) => {
      if (message.destroyed && !message.complete) {
        reject(new BodyAborted('the client closed the connection'));
        return;
      }
      message.on('data', (piece: Uint8Array) => {
        const refusal = take(piece);
        if (refusal === undefined) return;
        message.removeAllListeners('data');
        message.pause();
        reject(refusal);
      });
      message.once('end', () => resolve(result()));
      message.once('close', () => {
        if (!message.complete) reject(new BodyAborted('the client closed the connection'));
      });
    });
  }
}

/** Pieces one at a time: the socket is read again only when the handler asks for more. */
class BodyPieces implements AsyncIterator<Uint8Array> {
  readonly #message: IncomingMessage;
  #waiting: { resolve(result: IteratorResult<Uint8Array>): void; reject(error: Error): void } | undefined;
  #isStopped: boolean = false;

  constructor(message: IncomingMessage) {
    this.#message = message;
    message.on('data', this.#onData);
    message.once('end', () => this.#finish(undefined));
    message.once('close', () => {
      this.#finish(message.complete ? undefined : new BodyAborted('the client closed the connection'));
    });
    message.pause();
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#isStopped || this.#message.readableEnded) return Promise.resolve({ done: true, value: undefined });
    if (this.#message.destroyed && !this.#message.complete) {
      return Promise.reject(new BodyAborted('the client closed the connection'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#message.resume();
    });
  }

  /** The handler has had enough; the transport throws the rest away. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.#isStopped = true;
    this.#message.off('data', this.#onData);
    return Promise.resolve({ done: true, value: undefined });
  }

  #onData = (piece: Uint8Array): void => {
    this.#message.pause();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ done: false, value: piece });
  };

  #finish(error: Error | undefined): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (error === undefined) waiting?.resolve({ done: true, value: undefined });
    else waiting?.reject(error);
  }
}

function declaredLengthBytes(message: IncomingMessage): number | undefined {
  const declared = message.headers['content-length'];
  if (declared !== undefined) return Number(declared);
  return message.headers['transfer-encoding'] === undefined ? 0 : undefined;
}
