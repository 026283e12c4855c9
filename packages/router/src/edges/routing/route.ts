/** The declaration of one operation of an edge. It is data: the router matches it, and OpenAPI is generated from it. */
import type { HttpRequest, HttpResponse } from '@millrace/http';
import type * as z from 'zod';

export type RouteMethod = 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';

export interface BodyDeclaration {
  readonly description: string;
  /** By media type; without a schema the body is bytes. */
  readonly content?: Readonly<Record<string, z.ZodType | undefined>>;
}

/** A body that is JSON of this schema. */
export function jsonContent(schema: z.ZodType): { readonly 'application/json': z.ZodType } {
  return { 'application/json': schema };
}

/** A request that matched, with the values of its path and query. */
export interface RoutedRequest {
  readonly request: HttpRequest;
  /** By name as in the template, percent-decoded. */
  readonly parameters: ReadonlyMap<string, string>;
  /** As the route's query schema made it; an empty object without one. */
  readonly query: Readonly<Record<string, unknown>>;
}

export interface Route {
  readonly method: RouteMethod;
  /** Segments separated by slashes; `{name}` matches one segment that is not empty. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  /** Schemas of path parameters. A segment that does not fit is another path: the answer is 404. */
  readonly parameters?: Readonly<Record<string, z.ZodType<string>>>;
  /** Schema of the query. An invalid query is a 400; fields that the schema does not name are allowed. */
  readonly query?: z.ZodObject;
  /** Schemas of header fields that mean something to this operation; the handler reads them itself. */
  readonly headers?: Readonly<Record<string, z.ZodType>>;
  readonly request?: BodyDeclaration;
  readonly responses: Readonly<Record<number, BodyDeclaration>>;
  readonly handler: (routed: RoutedRequest) => HttpResponse | Promise<HttpResponse>;
}

/** `/v2/models/{model}` as `['v2', 'models', '{model}']`. */
export function templateSegments(path: string): readonly string[] {
  return path.split('/').slice(1);
}

/** The name inside `{name}`; undefined for a literal segment. */
export function takeParameterName(segment: string): string | undefined {
  return segment.startsWith('{') && segment.endsWith('}') ? segment.slice(1, -1) : undefined;
}
