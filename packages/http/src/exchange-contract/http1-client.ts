/** A client for the exchange contract that speaks HTTP/1.1 over one kept-alive connection at a time. */
import { Agent, type IncomingMessage, request as openRequest } from 'node:http';
import type { HttpServer } from '../exchange.ts';
import type { ContractCall, ContractReply, ContractServer, SlowReply } from './subject.ts';

export function contractServerOverHttp1(server: HttpServer): ContractServer {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    call: async (call) => replyFrom(await headOf(server, agent, call)),
    callSlowly: async (call) => slowReplyFrom(await headOf(server, agent, call)),
    close: () => {
      agent.destroy();
      return server.close();
    },
  };
}

function headOf(server: HttpServer, agent: Agent, call: ContractCall): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers: [string, string][] = (call.headers ?? []).map(([name, value]) => [name, value]);
    if (!headers.some(([name]) => name === 'host')) headers.push(['host', `${server.host}:${server.port}`]);
    if (call.body instanceof Uint8Array) headers.push(['content-length', String(call.body.byteLength)]);
    else if (call.body !== undefined) headers.push(['transfer-encoding', 'chunked']);
    if (call.trailers !== undefined) headers.push(['trailer', call.trailers.map(([name]) => name).join(', ')]);
    const outgoing = openRequest({
      host: server.host,
      port: server.port,
      method: call.method ?? 'GET',
      path: call.target,
      headers: headers.flat(),
      agent,
    });
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
    // The reader of the answer gets the error; nobody else needs it.
    outgoing.on('error', () => {});
    call.hangUp?.onCancel(() => outgoing.destroy(new Error('hung up')));
    if (call.body === undefined || call.body instanceof Uint8Array) outgoing.end(call.body);
    else void sendPieces(call, call.body, outgoing);
  });
}

async function sendPieces(
  call: ContractCall,
  pieces: AsyncIterable<Uint8Array>,
  outgoing: ReturnType<typeof openRequest>,
): Promise<void> {
  for await (const piece of pieces) {
    if (outgoing.destroyed) return;
    if (!outgoing.write(piece)) {
      await new Promise<void>((resolve) => {
        const goOn = () => {
          outgoing.off('drain', goOn);
          outgoing.off('close', goOn);
          resolve();
        };
        outgoing.on('drain', goOn);
        outgoing.on('close', goOn);
      });
    }
  }
  outgoing.addTrailers(Object.fromEntries(call.trailers ?? []));
  outgoing.end();
}

async function replyFrom(incoming: IncomingMessage): Promise<ContractReply> {
  const body = await bodyOf(incoming);
  return {
    status: incoming.statusCode ?? 0,
    headers: new Map(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
    body,
    trailers: new Map(Object.entries(incoming.trailers).map(([name, value]) => [name, String(value)])),
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of incoming) pieces.push(piece);
  return Buffer.concat(pieces);
}

function slowReplyFrom(incoming: IncomingMessage): SlowReply {
  return {
    status: incoming.statusCode ?? 0,
    readAll: () => bodyOf(incoming),
    hangUp: () => incoming.socket.destroy(),
  };
}
