/** Adapts the `HttpHandler` seam to exchanges: a value returned at once is sent in the same call, without a promise. */
import { internalServerError, mayCarryBody, type OnHandlerError, releaseOnce } from '../answer.ts';
import type { HttpHandler, HttpResponse, ResponseBody } from '../exchange.ts';
import { SeamRequest } from './seam-request.ts';
import type { WireExchange, WireHandler } from './wire-exchange.ts';

/** Lets a handler of the seam serve exchanges; what it throws goes to `onError` and becomes a plain 500. */
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
      const { again } = answer;
      if (again !== undefined && again() === answer) exchange.again = again;
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
  onError(error);
  if (exchange.isStarted) {
    exchange.abort();
    return;
  }
  const response = internalServerError();
  exchange.answer(response.status, response.headers, response.body as Uint8Array, undefined, undefined);
}

function respond(request: SeamRequest, response: HttpResponse, onError: OnHandlerError): void {
  const { exchange } = request;
  const { body } = response;
  const release = response.release === undefined ? undefined : releaseOnce(response, onError);
  if (body !== undefined && !isBytes(body)) {
    stream(request, response, body, release).catch((error: unknown) => fail(exchange, error, onError));
    return;
  }
  try {
    exchange.answer(response.status, response.headers, body, response.trailers?.(), release);
  } catch (error) {
    release?.();
    fail(exchange, error, onError);
  }
}

async function stream(
  request: SeamRequest,
  response: HttpResponse,
  body: AsyncIterable<Uint8Array>,
  release: (() => void) | undefined,
): Promise<void> {
  const { exchange } = request;
  const pieces = body[Symbol.asyncIterator]();
  let isSourceDone = false;
  try {
    exchange.start(response.status, response.headers);
    while (exchange.abortReason === undefined && mayCarryBody(exchange.method, response.status)) {
      const next = await pieces.next();
      isSourceDone = next.done === true;
      if (next.done === true) break;
      if (exchange.write(next.value)) continue;
      await new Promise<void>((resolve) => {
        request.onRoom = resolve;
      });
    }
    exchange.end(response.trailers?.());
  } catch (error) {
    isSourceDone = true;
    throw error;
  } finally {
    if (release !== undefined) exchange.whenSent(release);
    // A source that was not read to its end is returned, as `for await` would do.
    if (!isSourceDone) await pieces.return?.();
  }
}

function isBytes(body: ResponseBody): body is Uint8Array | readonly Uint8Array[] {
  return body instanceof Uint8Array || Array.isArray(body);
}
