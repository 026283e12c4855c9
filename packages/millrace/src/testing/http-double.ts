/** An HTTP server for tests of commands that call one. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HttpDouble {
  readonly url: string;
  close(): void;
}

export type AnswerRequest = (request: IncomingMessage, body: Buffer, response: ServerResponse) => void;

/** Answers every request once its body has arrived. */
export async function startHttpDouble(answer: AnswerRequest): Promise<HttpDouble> {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    answer(request, Buffer.concat((await request.toArray()) as Buffer[]), response);
  };
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
