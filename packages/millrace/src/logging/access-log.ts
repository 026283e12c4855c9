/** A log line for every request, when the operator asked for it (`log.requests`). */
import type { HttpHandler, HttpResponse, Interceptor } from '@millrace/http';
import { InferenceError, quotedCharactersMax, shortened } from '@millrace/protocol';
import type { Logger } from './logger.ts';

/** `now` gives milliseconds on a clock that only goes forward. */
export function withAccessLog(handler: HttpHandler, logger: Logger, now: () => number): HttpHandler {
  return async (request) => {
    const startedAt = now();
    const finish = (status: number | undefined, error?: unknown): void => {
      logger.info(
        {
          method: request.method,
          path: request.path,
          status,
          durationMs: Math.round((now() - startedAt) * 1000) / 1000,
          peer: request.peer.address,
          ...(error === undefined ? {} : { error }),
        },
        'request',
      );
    };
    let response: HttpResponse;
    try {
      response = await handler(request);
    } catch (error) {
      finish(undefined, error);
      throw error;
    }
    const { release } = response;
    // Logged when the answer has been sent, so that the duration of a stream includes its end.
    return {
      ...response,
      release: () => {
        release?.();
        finish(response.status);
      },
    };
  };
}

/** The same for calls of gRPC, gRPC-Web and Connect, with the model, unless it is a stream of many, and the code of an error. */
export function rpcAccessLog(logger: Logger, now: () => number): Interceptor {
  return (call, next) => {
    const startedAt = now();
    call.whenEnded((error) => {
      logger.info(
        {
          protocol: call.protocol,
          path: `/${call.service}/${call.method}`,
          ...(call.subject === '' ? {} : { model: shortened(call.subject, quotedCharactersMax) }),
          status: error?.code ?? 'ok',
          ...(error?.cause instanceof InferenceError ? { code: error.cause.code } : {}),
          durationMs: Math.round((now() - startedAt) * 1000) / 1000,
          peer: call.peer.address,
        },
        'request',
      );
    });
    next();
  };
}
