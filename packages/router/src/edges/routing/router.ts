import type { HttpHandler, HttpRequest, HttpResponse } from '@millrace/http';
import { InferenceError, shortened } from '@millrace/protocol';
import * as z from 'zod';
import { type PathMatch, PathTree } from './match-path.ts';
import type { Route, RoutedRequest } from './route.ts';

/** Encodes the answer to an unknown path in the form of the edge that owns the router. */
export type EncodeRefusal = (error: InferenceError, request: HttpRequest) => HttpResponse;

/** Limits of the cache of matched paths: their number, and the length of one. Clients repeat the same few. */
export const knownPathsMax = 256;
const knownPathCharactersMax = 256;

interface KnownPath {
  readonly method: string;
  readonly route: Route;
  readonly parameters: ReadonlyMap<string, string>;
}

const noQuery: Readonly<Record<string, unknown>> = Object.freeze({});

/** One handler for all routes: 404 for an unknown path, 405 with `allow` for a known one, HEAD wherever GET is. */
export function createRouter(routes: readonly Route[], encodeRefusal: EncodeRefusal): HttpHandler {
  const tree = new PathTree();
  for (const route of routes) tree.add(route);

  const known = new Map<string, KnownPath>();

  return (request) => {
    const before = known.get(request.path);
    if (before !== undefined && before.method === request.method) {
      return before.route.handler({ request, parameters: before.parameters, query: noQuery });
    }
    const path = ownText(request.path);
    const match = tree.take(path);
    if (match === undefined) return encodeRefusal(notFound(request), request);
    const { byMethod } = match.routes;
    const route = byMethod.get(request.method) ?? (request.method === 'HEAD' ? byMethod.get('GET') : undefined);
    if (route === undefined) {
      const allowed = allowedMethods([...byMethod.keys()]);
      const refusal = encodeRefusal(methodNotAllowed(request, allowed), request);
      return { ...refusal, headers: [...refusal.headers, ['allow', allowed]] };
    }
    const routed = routedFrom(route, match, request);
    if (routed instanceof InferenceError) return encodeRefusal(routed, request);
    const { method } = request;
    if (route.query === undefined && path.length <= knownPathCharactersMax) {
      if (known.size === knownPathsMax) known.clear();
      known.set(path, { method, route, parameters: routed.parameters });
    }
    return route.handler(routed);
  };
}

/** A copy in memory of its own: a path is mostly a slice of a request head, which a cached path would keep alive. */
function ownText(text: string): string {
  if (text.length > knownPathCharactersMax) return text;
  const own = Buffer.from(text, 'latin1').toString('latin1');
  return own === text ? own : text;
}

/** Longest quotation of a path in an error message. */
const pathCharactersMax = 200;

/** Begins with Triton's text, because its clients search for it. */
function notFound({ path }: HttpRequest): InferenceError {
  return new InferenceError(
    'not-found',
    `Not Found: ${shortened(path, pathCharactersMax)} is not a path of this server`,
  );
}

function methodNotAllowed({ method, path }: HttpRequest, allowed: string): InferenceError {
  const found = `${shortened(path, pathCharactersMax)} takes ${allowed}, not ${shortened(method, pathCharactersMax)}`;
  return new InferenceError('method-not-allowed', `Method Not Allowed: ${found}`);
}

function allowedMethods(methods: readonly string[]): string {
  const all = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
  return all.toSorted().join(', ');
}

function routedFrom(route: Route, match: PathMatch, request: HttpRequest): RoutedRequest | InferenceError {
  const parameters = new Map<string, string>();
  for (const [index, name] of match.routes.parameterNames.entries()) {
    const value = takePercentDecoded(match.values[index] ?? '');
    if (value === undefined) {
      return new InferenceError(
        'invalid-request',
        `the ${name} in the path is not valid percent-encoded UTF-8; encode it with encodeURIComponent or an equivalent`,
      );
    }
    const schema = route.parameters?.[name];
    if (schema !== undefined && !schema.safeParse(value).success) return notFound(request);
    parameters.set(name, value);
  }
  if (route.query === undefined) return { request, parameters, query: noQuery };
  const query = route.query.safeParse(Object.fromEntries(new URLSearchParams(request.query)));
  if (!query.success) {
    return new InferenceError('invalid-request', `the query is invalid: ${z.prettifyError(query.error)}`);
  }
  return { request, parameters, query: query.data };
}

function takePercentDecoded(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
