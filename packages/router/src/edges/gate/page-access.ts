/** Lets pages of listed origins read answers: a browser hides those of another origin unless they say so. */
import {
  Cors,
  type CorsOptions,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  isPreflight,
} from '@millrace/http';
import { originField } from './page-caller.ts';

const methods = 'GET, POST, DELETE';

/** Which pages may send requests at all is decided by the gate. */
export function withPageAccess(handler: HttpHandler, options: CorsOptions): HttpHandler {
  const cors = new Cors(options);
  const readable = (request: HttpRequest, response: HttpResponse): HttpResponse => ({
    ...response,
    headers: [...response.headers, ...cors.answerFields(request.headers, response.headers)],
  });
  return (request) => {
    if (!request.headers.has(originField)) return handler(request);
    if (isPreflight(request.method, request.headers)) {
      return { status: 204, headers: cors.preflightFields(request.headers, methods) };
    }
    const answer = handler(request);
    return answer instanceof Promise
      ? answer.then((response) => readable(request, response))
      : readable(request, answer);
  };
}
