import type { ServerResponse } from 'node:http';
import type { CancelSignal } from '@millrace/protocol';
import { bodyLengthBytes, isPieceList, mayCarryBody, ownFields } from '../answer.ts';
import type { HttpResponse } from '../exchange.ts';

/**
 * Sends the head and whatever part of the body is in memory; returns the part that is made as the client takes it,
 * if there is one. Throws, with nothing sent, when the handler's fields cannot be sent.
 */
export function writeHeadAndPieces(
  response: HttpResponse,
  out: ServerResponse,
  method: string,
): AsyncIterable<Uint8Array> | undefined {
  const { body, status } = response;
  const lengthBytes = bodyLengthBytes(body);
  const fields: string[] = [];
  for (const [name, value] of ownFields(response.headers)) fields.push(name, value);
  // Trailers need the chunked coding, so a body that has them is sent without its length.
  const hasTrailers = response.trailers !== undefined && mayCarryBody(method, status);
  if (lengthBytes !== undefined && !hasTrailers && status >= 200 && status !== 204) {
    if (status !== 304 || lengthBytes > 0) fields.push('content-length', String(lengthBytes));
  }
  out.writeHead(status, fields);
  if (!mayCarryBody(method, status) || body === undefined) {
    finish(response, out);
    return undefined;
  }
  if (!(body instanceof Uint8Array) && !isPieceList(body)) {
    // The client should see the head now, not together with a first piece that may take its time.
    out.flushHeaders();
    return body;
  }
  // Corked: head and all pieces go to the kernel in one writev, each from where it lies.
  out.cork();
  if (body instanceof Uint8Array) writePiece(out, body);
  else for (const piece of body) writePiece(out, piece);
  finish(response, out);
  out.uncork();
  return undefined;
}

/**
 * Pulls pieces no faster than the client takes them. When the client goes away this resolves at once, also while the
 * source is still making a piece: the source is told, and its end is nobody's concern.
 */
export function writeStreamedBody(
  pieces: AsyncIterable<Uint8Array>,
  response: HttpResponse,
  out: ServerResponse,
  signal: CancelSignal,
): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new Promise((resolve, reject) => {
    const forget = signal.onCancel(() => {
      iterator.return?.().then(undefined, () => {});
      resolve();
    });
    pump(iterator, out, signal).then((isFinished) => {
      if (!isFinished) return;
      forget();
      finish(response, out);
      resolve();
    }, reject);
  });
}

async function pump(iterator: AsyncIterator<Uint8Array>, out: ServerResponse, signal: CancelSignal): Promise<boolean> {
  while (signal.reason === undefined) {
    const step = await iterator.next();
    if (signal.reason !== undefined) return false;
    if (step.done === true) return true;
    if (!writePiece(out, step.value)) await drained(out, signal);
  }
  return false;
}

function finish(response: HttpResponse, out: ServerResponse): void {
  if (response.trailers !== undefined && out.chunkedEncoding) {
    out.addTrailers(response.trailers().map(([name, value]): [string, string] => [name, value]));
  }
  out.end();
}

function writePiece(out: ServerResponse, piece: Uint8Array): boolean {
  return piece.byteLength === 0 || out.write(piece);
}

function drained(out: ServerResponse, signal: CancelSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      out.off('drain', done);
      forget();
      resolve();
    };
    out.on('drain', done);
    const forget = signal.onCancel(() => {
      out.off('drain', done);
      resolve();
    });
  });
}
