/** Where the WebSocket is served, and what requests for it get that ask for none. */
import * as z from 'zod';
import { jsonContent, type Route } from '../routing/route.ts';
import { streamSubprotocols } from './subprotocols.ts';

export const streamSocketPath = '/v1/streams';

const message = `${streamSocketPath} is served by WebSocket; open it with a WebSocket client and one of the subprotocols ${streamSubprotocols.join(' and ')}. Without one, POST ${streamSocketPath} with Accept: text/event-stream opens a stream and answers with its events`;
const body = Buffer.from(JSON.stringify({ error: message }));

/** Of the OpenAPI document. Requests for an upgrade are answered before routes are matched. */
export const streamSocketRoute: Route = {
  method: 'GET',
  path: streamSocketPath,
  operationId: 'streamSocket',
  summary: 'Open a WebSocket that carries one durable stream',
  responses: {
    101: { description: `A WebSocket with one of the subprotocols ${streamSubprotocols.join(' and ')}` },
    426: {
      description: 'The request does not ask for a WebSocket',
      content: jsonContent(z.object({ error: z.string() })),
    },
  },
  handler: () => ({
    status: 426,
    headers: [
      ['content-type', 'application/json'],
      ['sec-websocket-version', '13'],
    ],
    body,
  }),
};
