/** The `HttpHandler` seam above the wire: a value answered at once is sent in the same call, without a promise. */
import type { HttpHandler, HttpResponse, ResponseBody } from '../exchange.ts';
import { SeamRequest } from './seam-request.ts';
import type { WireExchange, WireHandler } from './wire-exchange.ts';

/** A handler broke: what it threw, and for which request. */
export type OnHandlerError = (error: unknown, request: { readonly method: string; readonly path: string }) => void;

export function wireHandlerFrom(handler: HttpHandler, onError: OnHandlerError): WireHandler {
  return (exchange) => {
    const request = new SeamRequest(exchange);
    let answer: HttpResponse | Promise<HttpResponse>;
    try {
      answer = handler(request);
    } catch (error) {
      fail(exchange, error, onError);
      return;
    }
    if (!(answer instanceof Promise)) {
      respond(request, answer, onError);
      return;
    }
    answer.then(
      (response) => respond(request, response, onError),
      (error: unknown) => fail(exchange, error, onError),
    );
  };
}

function fail(exchange: WireExchange, error: unknown, onError: OnHandlerError): void {
  onError(error, exchange);
  if (exchange.isStarted) exchange.abort();
  else exchange.answer(500, [], undefined, undefined, undefined);
}

function respond(request: SeamRequest, response: HttpResponse, onError: OnHandlerError): void {
  const { exchange } = request;
  const { body } = response;
  try {
    if (body === undefined || isBytes(body)) {
      const trailers = response.trailers?.();
      exchange.answer(response.status, response.headers, body, trailers, response.release);
      return;
    }
  } catch (error) {
    response.release?.();
    fail(exchange, error, onError);
    return;
  }
  stream(request, response, body).catch((error: unknown) => fail(exchange, error, onError));
}

async function stream(request: SeamRequest, response: HttpResponse, body: AsyncIterable<Uint8Array>): Promise<void> {
  const { exchange } = request;
  const pieces = body[Symbol.asyncIterator]();
  try {
    exchange.start(response.status, response.headers);
    const isBodyless = exchange.method === 'HEAD' || response.status === 204 || response.status === 304;
    while (exchange.abortReason === undefined && !isBodyless) {
      const next = await pieces.next();
      if (next.done === true) break;
      if (exchange.abortReason !== undefined) break;
      if (exchange.write(next.value)) continue;
      await new Promise<void>((resolve) => {
        request.onRoom = resolve;
      });
    }
    exchange.end(response.trailers?.());
  } finally {
    if (response.release !== undefined) exchange.whenSent(response.release);
    // A body that was not read to its end is told so, as `for await` would.
    await pieces.return?.();
  }
}

function isBytes(body: ResponseBody): body is Uint8Array | readonly Uint8Array[] {
  return body instanceof Uint8Array || Array.isArray(body);
}
