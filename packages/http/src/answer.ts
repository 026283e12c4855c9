/** What every transport does the same way around a handler: failures become a plain 500, and memory is released once. */
import type { HeaderList, HttpHandler, HttpRequest, HttpResponse, ResponseBody } from './exchange.ts';

/** Told of failures that no client may see: a handler, a response body or a `release` that threw. */
export type OnHandlerError = (error: unknown) => void;

const plainText = new TextEncoder();

/** What a client learns when a handler fails: that it did, and nothing else. */
export function internalServerError(): HttpResponse {
  return {
    status: 500,
    headers: [['content-type', 'text/plain; charset=utf-8']],
    body: plainText.encode('Internal Server Error\n'),
  };
}

/** Calls the handler; whatever it throws goes to `onError` and comes back as a plain 500. */
export async function answerFrom(
  handler: HttpHandler,
  request: HttpRequest,
  onError: OnHandlerError,
): Promise<HttpResponse> {
  try {
    return await handler(request);
  } catch (error) {
    onError(error);
    return internalServerError();
  }
}

/** Wraps the response's `release` so that every way of ending may call it, and only the first call runs it. */
export function releaseOnce(response: HttpResponse, onError: OnHandlerError): () => void {
  let release = response.release;
  return () => {
    if (release === undefined) return;
    const call = release;
    release = undefined;
    try {
      call();
    } catch (error) {
      onError(error);
    }
  };
}

/** Bytes of a body that is complete; undefined for one that is produced as the client takes it. */
export function bodyLengthBytes(body: ResponseBody | undefined): number | undefined {
  if (body === undefined) return 0;
  if (body instanceof Uint8Array) return body.byteLength;
  if (!isPieceList(body)) return undefined;
  let bytes = 0;
  for (const piece of body) bytes += piece.byteLength;
  return bytes;
}

export function isPieceList(body: ResponseBody): body is readonly Uint8Array[] {
  return Array.isArray(body);
}

/** Whether the answer to this request may carry a body at all. */
export function mayCarryBody(method: string, status: number): boolean {
  return method !== 'HEAD' && status >= 200 && status !== 204 && status !== 304;
}

const transportFields = new Set(['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'date']);

/** The handler's fields without those that the transport sets. */
export function ownFields(headers: HeaderList): HeaderList {
  return headers.some(([name]) => transportFields.has(name))
    ? headers.filter(([name]) => !transportFields.has(name))
    : headers;
}
