/** gRPC by its own library for Node.js. */
import { once } from 'node:events';
import { connect } from 'node:http2';
import * as grpc from '@grpc/grpc-js';
import { grpcRefusal, inferAnswerFrom, malformedMessage, modelInferPath, requestBytes } from './infer-messages.ts';
import { type FaceCall, type FaceOutcome, type FaceRequest, type InferenceFace, noAnswer } from './inference-face.ts';

const detailsField = 'grpc-status-details-bin';
const asItIs = (bytes: Uint8Array): Buffer => Buffer.from(bytes);

export function openGrpcFace(url: string): InferenceFace {
  const client = new grpc.Client(new URL(url).host, grpc.credentials.createInsecure(), {
    // Clients of one address share a connection unless told otherwise.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': -1,
  });
  const sessions = new Set<() => void>();
  return {
    call: (request) => send(client, requestBytes(request, 'raw'), request.timeoutMs),
    callMalformed: () => send(client, malformedMessage, undefined).outcome,
    callUnread: async (request) => {
      const { read, close } = await beginUnread(url, request);
      sessions.add(close);
      return { read };
    },
    close: () => {
      client.close();
      for (const close of sessions) close();
    },
  };
}

function send(client: grpc.Client, message: Uint8Array, timeoutMs: number | undefined): FaceCall {
  const metadata = new grpc.Metadata();
  // Not by the library's own option: it would end the call by itself, and what the server says would not be seen.
  if (timeoutMs !== undefined) metadata.set('grpc-timeout', `${timeoutMs}m`);
  let hangUp = (): void => {};
  const outcome = new Promise<FaceOutcome>((resolve, reject) => {
    const call = client.makeUnaryRequest(modelInferPath, asItIs, asItIs, message, metadata, (error, answer) => {
      try {
        resolve(error === null ? inferAnswerFrom(answer as Buffer) : outcomeFrom(error));
      } catch (problem) {
        reject(problem as Error);
      }
    });
    hangUp = () => call.cancel();
  });
  return { outcome, hangUp: () => hangUp() };
}

function outcomeFrom({ code, details, metadata }: grpc.ServiceError): FaceOutcome {
  const [status] = metadata.get(detailsField);
  const isLocal = metadata.get('content-type').length === 0 && status === undefined;
  if (isLocal) return { code: noAnswer, message: details };
  return grpcRefusal(code, details, status as Buffer | undefined);
}

/** The library reads whatever comes, so the one who does not is written by hand: its stream has a window of 64 KiB. */
async function beginUnread(
  url: string,
  request: FaceRequest,
): Promise<{ read: () => Promise<FaceOutcome>; close: () => void }> {
  const session = connect(url);
  const stream = session.request({
    ':method': 'POST',
    ':path': modelInferPath,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  const message = requestBytes(request, 'raw');
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.end(Buffer.concat([prefix, message]));
  await once(stream, 'response');
  const read = async (): Promise<FaceOutcome> => {
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(piece as Buffer);
    return inferAnswerFrom(Buffer.concat(pieces).subarray(prefix.length));
  };
  return { read, close: () => session.destroy() };
}
