/** gRPC-Web as a browser sends it: one envelope over HTTP/1.1, trailers as the last envelope of the answer. */
import { HttpCalls, type HttpQuestion, type HttpReply } from './http-calls.ts';
import { grpcRefusal, inferAnswerFrom, malformedMessage, modelInferPath, requestBytes } from './infer-messages.ts';
import type { FaceOutcome, InferenceFace } from './inference-face.ts';

const prefixBytes = 5;
const trailersFlag = 0x80;

export function openGrpcWebFace(url: string): InferenceFace {
  const calls = new HttpCalls(url, outcomeFrom);
  return {
    call: (request) => calls.call(questionOf(requestBytes(request, 'typed'), request.timeoutMs)),
    callUnread: (request) => calls.callUnread(questionOf(requestBytes(request, 'typed'), request.timeoutMs)),
    callMalformed: () => calls.call(questionOf(malformedMessage, undefined)).outcome,
    close: () => calls.close(),
  };
}

function questionOf(message: Uint8Array, timeoutMs: number | undefined): HttpQuestion {
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return {
    path: modelInferPath,
    headers: {
      'content-type': 'application/grpc-web+proto',
      'x-grpc-web': '1',
      ...(timeoutMs === undefined ? {} : { 'grpc-timeout': `${timeoutMs}m` }),
    },
    body: Buffer.concat([prefix, message]),
  };
}

function outcomeFrom({ status, headers, body }: HttpReply): FaceOutcome {
  if (status !== 200) throw new Error(`gRPC-Web answered with the HTTP status ${status}`);
  // An answer without a message has its trailers in the head.
  const trailers = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  let message: Uint8Array | undefined;
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32BE(at + 1);
    const content = body.subarray(at + prefixBytes, at + prefixBytes + length);
    if (((body[at] as number) & trailersFlag) === 0) message = content;
    else {
      for (const line of content.toString().split('\r\n')) {
        const colon = line.indexOf(':');
        if (colon > 0) trailers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
      }
    }
    at += prefixBytes + length;
  }
  const grpcStatus = Number(trailers.get('grpc-status'));
  if (grpcStatus === 0 && message !== undefined) return inferAnswerFrom(message);
  const details = trailers.get('grpc-status-details-bin');
  return grpcRefusal(
    grpcStatus,
    decodeURIComponent(trailers.get('grpc-message') ?? ''),
    details === undefined ? undefined : Buffer.from(details, 'base64'),
  );
}
