/** What the requests of the edge of server-sent events ask for. */
import { BodyTooLarge, type HttpRequest } from '@millrace/http';
import { InferenceError, type OpenFrame, quote } from '@millrace/protocol';
import * as z from 'zod';
import { defaultStreamFrameLimits, tooLarge } from '../streams/frame-limits.ts';
import { OpenFields, openFrameFrom } from '../streams/frame-parts.ts';
import { FrameJsonReader } from '../streams/read-frame-json.ts';
import { finalEventId, resumeAfterFrom } from '../streams/server-sent-event.ts';

export const lastEventIdField = 'last-event-id';

export const bodyReader: FrameJsonReader = new FrameJsonReader(defaultStreamFrameLimits);

const { frameBytesMax } = defaultStreamFrameLimits;

export async function readBody({ body, headers }: HttpRequest): Promise<Uint8Array> {
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new InferenceError('unsupported', `Content-Encoding is ${quote(encoding)}; send the body uncompressed`);
  }
  try {
    return await body.readAll(frameBytesMax);
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw error;
    throw tooLarge(`the body has more than the ${frameBytesMax} bytes allowed; send less in one`);
  }
}

export function wantsEvents({ headers }: HttpRequest): boolean {
  return headers
    .getAll('accept')
    .flatMap((value) => value.split(','))
    .some((one) => one.split(';', 1)[0]?.trim().toLowerCase() === 'text/event-stream');
}

/** The query of a request for the events of a stream. */
export const streamEventsQuery = z.object({
  resume_after: z.string().describe('As Last-Event-ID, which counts more').optional(),
  client_id: z.string().default('').describe('Tells the connections of this client from those of another one'),
  attempt: z.coerce.number().int().min(0).max(0xffff_ffff).default(0).describe('Counts the connections of that client'),
});
export type StreamEventsQuery = z.infer<typeof streamEventsQuery>;

/** Where a client goes on: after an output, or nowhere, because it has seen the end. */
export type ResumePoint = number | 'end';

/** The field counts more than the query: an EventSource that connects again repeats the query of its first request. */
export function resumePointFrom({ headers }: HttpRequest, query: unknown): ResumePoint {
  const lastEventId = headers.get(lastEventIdField) ?? '';
  const text = lastEventId !== '' ? lastEventId : typeof query === 'string' ? query : '';
  if (text === finalEventId) return 'end';
  return resumeAfterFrom(text, lastEventId !== '' ? 'Last-Event-ID' : 'resume_after');
}

export function resumeFrame(
  streamId: string,
  resumeAfter: number,
  { client_id: clientId, attempt }: StreamEventsQuery,
): OpenFrame {
  const fields = Object.assign(new OpenFields(), { streamId, mode: 'resume', resumeAfter, clientId, attempt });
  return openFrameFrom(fields);
}
