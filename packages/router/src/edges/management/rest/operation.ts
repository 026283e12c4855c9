/** One operation of the REST face: its declaration, reading its body within limits, and its errors. */
import type { HttpResponse } from '@millrace/http';
import type { z } from 'zod';
import { readLoadBody } from '../../repository/read-load-body.ts';
import { requestPackingFrom } from '../../rest/decompress.ts';
import { encodeError } from '../../rest/encode-error.ts';
import { readBody } from '../../rest/read-body.ts';
import { errorSchema } from '../../rest/schemas.ts';
import type { Route, RoutedRequest } from '../../routing/route.ts';
import type { SliceQueue } from '../../slices/slice-queue.ts';
import { TurnGate } from '../../slices/turn-gate.ts';
import type { ManagementConfig } from '../config.ts';
import { bodyFrom } from './decode-request.ts';

export interface Call<Body> {
  readonly routed: RoutedRequest;
  readonly body: Body;
  /** What the body brings of files, whose places in it are empty texts. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Of the path. */
  parameter(name: string): string;
}

export interface Operation<Schema extends z.ZodType>
  extends Pick<Route, 'headers' | 'method' | 'operationId' | 'path' | 'summary'> {
  /** Left out, the call has no body. */
  readonly request?: {
    readonly description: string;
    readonly schema: Schema;
    /** The member of the body whose members are files, in base64. */
    readonly filesIn?: string;
  };
  /** Left out, the answer has no body. */
  readonly answer?: { readonly description: string; readonly schema: z.ZodType };
  run(call: Call<z.infer<Schema>>): HttpResponse | Promise<HttpResponse>;
}

const noFiles: ReadonlyMap<string, Uint8Array> = new Map();

const json = (schema: z.ZodType) => ({ 'application/json': schema });

export type MakeRoute = <Schema extends z.ZodType = z.ZodUndefined>(operation: Operation<Schema>) => Route;

export function routeMaker(config: ManagementConfig, slices: SliceQueue, onError: (error: unknown) => void): MakeRoute {
  const { retryAfterSeconds, zlibSyncBytesMax, unpackingsMax } = config;
  const unpackingParts = { zlibSyncBytesMax, gate: new TurnGate(unpackingsMax), slices };

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
          const { headers, peer, signal } = routed.request;
          const packing = requestPackingFrom(headers.getAll('content-encoding').join(', '));
          const unpacking = packing && ({ packing, isJson: false, bytesMax, owner: peer.address, signal } as const);
          const bytes = await readBody(routed.request, bytesMax, unpacking, unpackingParts);
          const work = readLoadBody(bytes, filesOfBody, (more) => routed.request.memory.hold(more));
          const read = await slices.run(work, peer.address, signal);
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
