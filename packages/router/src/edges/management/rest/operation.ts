/** One operation of the REST face: its declaration, reading its body within limits, and its errors. */
import type { HttpResponse } from '@millrace/http';
import type { z } from 'zod';
import { encodeError } from '../../rest/encode-error.ts';
import { readBody } from '../../rest/read-body.ts';
import { errorSchema } from '../../rest/schemas.ts';
import type { Route, RoutedRequest } from '../../routing/route.ts';
import type { ManagementConfig } from '../config.ts';
import { bodyFrom } from './decode-request.ts';

export interface Call<Body> {
  readonly routed: RoutedRequest;
  readonly body: Body;
  /** Of the path. */
  parameter(name: string): string;
}

export interface Operation<Schema extends z.ZodType>
  extends Pick<Route, 'headers' | 'method' | 'operationId' | 'path' | 'summary'> {
  /** Left out, the call has no body. */
  readonly request?: { readonly description: string; readonly schema: Schema; readonly isLarge?: boolean };
  /** Left out, the answer has no body. */
  readonly answer?: { readonly description: string; readonly schema: z.ZodType };
  run(call: Call<z.infer<Schema>>): HttpResponse | Promise<HttpResponse>;
}

const json = (schema: z.ZodType) => ({ 'application/json': schema });

export type MakeRoute = <Schema extends z.ZodType = z.ZodUndefined>(operation: Operation<Schema>) => Route;

export function routeMaker(config: ManagementConfig, onError: (error: unknown) => void): MakeRoute {
  const { retryAfterSeconds, zlibSyncBytesMax } = config;

  return <Schema extends z.ZodType = z.ZodUndefined>(operation: Operation<Schema>): Route => {
    const { request, answer, run, ...declared } = operation;
    const limits = { bodyBytesMax: request?.isLarge ? config.loadBytesMax : config.changeBytesMax, zlibSyncBytesMax };
    const handler = async (routed: RoutedRequest): Promise<HttpResponse> => {
      try {
        let body: z.infer<Schema> = undefined as z.infer<Schema>;
        if (request !== undefined) {
          const encoding = routed.request.headers.getAll('content-encoding').join(', ');
          const bytes = await readBody(routed.request, encoding === '' ? undefined : encoding, limits);
          body = bodyFrom(bytes, request.schema);
        }
        return await run({ routed, body, parameter: (name) => routed.parameters.get(name) ?? '' });
      } catch (error) {
        return encodeError(error, { retryAfterSeconds, onError });
      }
    };
    return {
      ...declared,
      ...(request === undefined
        ? {}
        : { request: { description: request.description, content: json(request.schema) } }),
      responses: {
        ...(answer === undefined
          ? { 204: { description: 'Done' } }
          : { 200: { description: answer.description, content: json(answer.schema) } }),
        400: { description: 'Refused; the message says why', content: json(errorSchema) },
        404: { description: 'There is no such model or version', content: json(errorSchema) },
        ...(declared.headers === undefined
          ? {}
          : { 409: { description: 'It was changed meanwhile', content: json(errorSchema) } }),
        503: { description: 'Not now, or not in this mode', content: json(errorSchema) },
      },
      handler,
    };
  };
}
