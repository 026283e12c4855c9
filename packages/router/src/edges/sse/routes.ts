/** Durable streams over plain HTTP: events in one response, further inputs and acknowledgements in requests of their own. */
import type { HttpRequest, HttpResponse } from '@millrace/http';
import { InferenceError, type InputFrame } from '@millrace/protocol';
import * as z from 'zod';
import type { StreamCaller } from '../../streams/stream-gateway.ts';
import type { CallerRule } from '../caller.ts';
import { encodeError, errorSchema } from '../routing/encode-error.ts';
import { jsonContent, type Route, type RoutedRequest } from '../routing/route.ts';
import { isStreamId } from '../streams/frame-limits.ts';
import {
  bodyReader,
  lastEventIdField,
  readBody,
  resumeFrame,
  resumePointFrom,
  type StreamEventsQuery,
  streamEventsQuery,
  wantsEvents,
} from './decode-request.ts';
import { emptyResponse, eventHeadResponse, eventResponse, frameResponse } from './encode-response.ts';
import { EventStream, type EventStreamParts } from './event-stream.ts';
import { openDetached } from './open-detached.ts';
import {
  streamAcceptedSchema,
  streamAcknowledgeSchema,
  streamBodySchema,
  streamEventsSchema,
  streamInputSchema,
  streamOpenedSchema,
} from './schemas.ts';

export interface StreamRoutesParts extends EventStreamParts {
  readonly callers: CallerRule;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError: (error: unknown) => void;
}

const streamsPath = '/v1/streams';

const retryAfterSeconds = 1;

const refusals = {
  400: { description: 'The request is malformed', content: jsonContent(errorSchema) },
  404: { description: 'There is no such stream, or it has expired', content: jsonContent(errorSchema) },
  409: { description: 'It does not go with what the stream is or has', content: jsonContent(errorSchema) },
  503: { description: 'Not available now; try again later', content: jsonContent(errorSchema) },
};
const events = { 'text/event-stream': streamEventsSchema };
const lastEventId = {
  [lastEventIdField]: z.string().describe('The id of the last event seen: what follows it is sent'),
};
const ended = { description: 'The client has seen the end: there is nothing to connect for' };

export function streamRoutes(parts: StreamRoutesParts): readonly Route[] {
  const operations = new StreamOperations(parts);
  const handled =
    (run: (routed: RoutedRequest, stream: string) => Promise<HttpResponse>) =>
    async (routed: RoutedRequest): Promise<HttpResponse> => {
      try {
        return await run(routed, routed.parameters.get('stream') ?? '');
      } catch (error) {
        return encodeError(error, { retryAfterSeconds, onError: parts.onError });
      }
    };
  const ofStream = {
    path: `${streamsPath}/{stream}`,
    parameters: { stream: z.string().refine(isStreamId) },
  };
  return [
    {
      method: 'POST',
      path: streamsPath,
      operationId: 'streamOpen',
      summary: 'Open a stream, or resume the one with this id',
      headers: lastEventId,
      request: { description: 'The stream, and its first input', content: jsonContent(streamBodySchema) },
      responses: {
        200: { description: 'The events, where Accept has text/event-stream', content: events },
        201: {
          description: 'Otherwise: it is open, and Location has its events',
          content: jsonContent(streamOpenedSchema),
        },
        204: ended,
        ...refusals,
      },
      handler: handled(({ request }) => operations.open(request)),
    },
    {
      ...ofStream,
      method: 'GET',
      operationId: 'streamEvents',
      summary: 'The events of a stream, from the first or after the last one seen',
      query: streamEventsQuery,
      headers: lastEventId,
      responses: { 200: { description: 'The events', content: events }, 204: ended, ...refusals },
      handler: handled(({ request, query }, stream) => operations.listen(request, stream, query as StreamEventsQuery)),
    },
    {
      ...ofStream,
      method: 'DELETE',
      operationId: 'streamCancel',
      summary: 'Cancel a stream; its events end with ended',
      responses: {
        204: { description: 'It is cancelled, or had ended before' },
        404: refusals[404],
        503: refusals[503],
      },
      handler: handled(({ request }, stream) => operations.cancel(request, stream)),
    },
    {
      ...ofStream,
      path: `${ofStream.path}/inputs`,
      method: 'POST',
      operationId: 'streamInput',
      summary: 'A further input; answered when it is durable',
      request: { description: 'The input', content: jsonContent(streamInputSchema) },
      responses: {
        200: { description: 'It is accepted, now or before', content: jsonContent(streamAcceptedSchema) },
        ...refusals,
      },
      handler: handled(({ request }, stream) => operations.input(request, stream)),
    },
    {
      ...ofStream,
      path: `${ofStream.path}/acknowledge`,
      method: 'POST',
      operationId: 'streamAcknowledge',
      summary: 'Let the server forget outputs that were handled',
      request: { description: 'The last of them', content: jsonContent(streamAcknowledgeSchema) },
      responses: { 204: { description: 'Done' }, 400: refusals[400], 404: refusals[404], 503: refusals[503] },
      handler: handled(({ request }, stream) => operations.acknowledge(request, stream)),
    },
  ];
}

class StreamOperations {
  readonly #parts: StreamRoutesParts;

  constructor(parts: StreamRoutesParts) {
    this.#parts = parts;
  }

  async open(request: HttpRequest): Promise<HttpResponse> {
    const { gateway, slices } = this.#parts;
    const caller = this.#callerOf(request);
    const work = bodyReader.readStreamBody(await readBody(request));
    const body = await slices.run(work, caller.caller, request.signal);
    const { streamId } = body.open;
    const resumeAfter = resumePointFrom(request, '');
    if (resumeAfter !== 0 && streamId === undefined) {
      throw new InferenceError('invalid-request', 'Last-Event-ID resumes a stream; name it by stream_id in the body');
    }
    if (resumeAfter === 'end') return this.#end(streamId as string, caller);
    if (!wantsEvents(request)) {
      const opened = await openDetached(gateway, body, caller, request.signal);
      return frameResponse(201, opened, [['location', `${streamsPath}/${opened.streamId}`]]);
    }
    const stream = new EventStream(this.#parts, { ...body.open, resumeAfter }, caller, request.signal);
    if (body.input !== undefined) stream.input(body.input);
    return this.#events(stream);
  }

  /** A HEAD request must not take the stream over from who listens to it. */
  async listen(request: HttpRequest, id: string, query: StreamEventsQuery): Promise<HttpResponse> {
    const caller = this.#callerOf(request);
    const resumeAfter = resumePointFrom(request, query.resume_after);
    if (resumeAfter === 'end') return this.#end(id, caller);
    if (request.method === 'HEAD') {
      await this.#parts.gateway.status(id, caller);
      return eventHeadResponse();
    }
    return this.#events(new EventStream(this.#parts, resumeFrame(id, resumeAfter, query), caller, request.signal));
  }

  async cancel(request: HttpRequest, id: string): Promise<HttpResponse> {
    await this.#parts.gateway.cancel(id, { kind: 'cancel', reason: '' }, this.#callerOf(request));
    return emptyResponse();
  }

  async input(request: HttpRequest, id: string): Promise<HttpResponse> {
    const caller = this.#callerOf(request);
    // Not `await`: a suspended call would keep the input, which may wait long for those before it.
    const accepted = this.#inputFrom(request, caller).then((input) =>
      this.#parts.gateway.input(id, input, caller, request.signal),
    );
    return frameResponse(200, await accepted);
  }

  async #inputFrom(request: HttpRequest, { caller }: StreamCaller): Promise<InputFrame> {
    const work = bodyReader.readInputBody(await readBody(request));
    return await this.#parts.slices.run(work, caller, request.signal);
  }

  async acknowledge(request: HttpRequest, id: string): Promise<HttpResponse> {
    const frame = bodyReader.readAcknowledgeBody(await readBody(request));
    await this.#parts.gateway.acknowledge(id, frame, this.#callerOf(request));
    return emptyResponse();
  }

  /** Who says that it has seen the end of a stream is stopped, unless the stream is not known. */
  async #end(id: string, caller: StreamCaller): Promise<HttpResponse> {
    await this.#parts.gateway.status(id, caller);
    return emptyResponse();
  }

  /** The head is sent when the stream is open, so that a refusal has its own status. */
  async #events(stream: EventStream): Promise<HttpResponse> {
    await stream.whenOpened;
    return eventResponse(stream, () => stream.detach());
  }

  #callerOf({ headers, peer }: HttpRequest): StreamCaller {
    return { caller: this.#parts.callers.callerOf(headers, peer), principal: '' };
  }
}
