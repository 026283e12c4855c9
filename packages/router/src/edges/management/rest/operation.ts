/** One operation of the REST interface: its declaration, reading its body within limits, and its errors. */
import type { HttpResponse } from '@millrace/http';
import type * as z from 'zod';
import { LoadBodyReader } from '../../rest/load-body-reader.ts';
import { encodeError, errorSchema } from '../../routing/encode-error.ts';
import { jsonContent, type Route, type RoutedRequest } from '../../routing/route.ts';
import type { SliceQueue } from '../../slices/slice-queue.ts';
import type { ManagementConfig } from '../config.ts';
import { bodyFrom } from './decode-request.ts';

export interface RestManagementCall<Body> {
  readonly routed: RoutedRequest;
  readonly body: Body;
  /** The files of the body; the body itself has empty texts instead of them. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Of the path. */
  parameter(name: string): string;
}

export interface Operation<Schema extends z.ZodType>
  extends Pick<Route, 'headers' | 'method' | 'operationId' | 'path' | 'query' | 'summary'> {
  /** Left out, the call has no body. */
  readonly request?: {
    readonly description: string;
    readonly schema: Schema;
    /** The member of the body whose members are files, in base64. */
    readonly filesIn?: string;
  };
  /** Left out, the answer has no body. */
  readonly answer?: { readonly description: string; readonly schema: z.ZodType };
  run(call: RestManagementCall<z.infer<Schema>>): HttpResponse | Promise<HttpResponse>;
}

const noFiles: ReadonlyMap<string, Uint8Array> = new Map();

export type MakeRoute = <Schema extends z.ZodType = z.ZodUndefined>(operation: Operation<Schema>) => Route;

export function routeMaker(config: ManagementConfig, slices: SliceQueue, onError: (error: unknown) => void): MakeRoute {
  const { retryAfterSeconds } = config;
  const bodies = new LoadBodyReader(config, slices);

  return <Schema extends z.ZodType = z.ZodUndefined>(operation: Operation<Schema>): Route => {
    const { request, answer, run, ...declared } = operation;
    const filesIn = request?.filesIn;
    const bytesMax = filesIn === undefined ? config.changeBytesMax : config.loadBytesMax;
    const filesOfBody = { member: filesIn ?? '', isFile: () => filesIn !== undefined };
    const handler = async (routed: RoutedRequest): Promise<HttpResponse> => {
      try {
        let body: z.infer<Schema> = undefined as z.infer<Schema>;
        let files = noFiles;
        if (request !== undefined) {
          const read = await bodies.read(routed.request, bytesMax, filesOfBody);
          body = bodyFrom(read.body, request.schema);
          files = read.files;
        }
        return await run({ routed, body, files, parameter: (name) => routed.parameters.get(name) ?? '' });
      } catch (error) {
        return encodeError(error, { retryAfterSeconds, onError });
      }
    };
    return {
      ...declared,
      ...(request === undefined
        ? {}
        : { request: { description: request.description, content: jsonContent(request.schema) } }),
      responses: {
        ...(answer === undefined
          ? { 204: { description: 'Done' } }
          : { 200: { description: answer.description, content: jsonContent(answer.schema) } }),
        400: { description: 'Refused; the message says why', content: jsonContent(errorSchema) },
        404: { description: 'There is no such model, version or stream', content: jsonContent(errorSchema) },
        ...(declared.headers === undefined
          ? {}
          : { 409: { description: 'It was changed by someone else', content: jsonContent(errorSchema) } }),
        503: { description: 'Not available now, or not in this mode', content: jsonContent(errorSchema) },
      },
      handler,
    };
  };
}
