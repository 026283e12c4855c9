/** gRPC-Web: messages as in gRPC, and trailers as the last message of the body. */
import { grpcTimeout } from '../rpc/grpc-timeout.ts';
import { AnswerReader, BrokenAnswer, brokenAnswer, joined, unknownFlag } from '../rpc/message-reader.ts';
import type { AnswerKind, OutgoingCall, RpcAnswerListener, RpcCaller, RpcField } from '../rpc/rpc-call.ts';
import { brokenOutcome, headProblem, outcomeFromTrailers } from '../rpc/rpc-outcome.ts';
import type { AttemptContext } from '../transport.ts';
import { eachPiece, type FetchTarget, fetchCall, fieldsOf } from './fetch-call.ts';

const contentType = 'application/grpc-web';
const contentTypes = [contentType, `${contentType}+proto`];
const trailerFlag = 0x80;

export class GrpcWebCaller implements RpcCaller {
  readonly #target: FetchTarget;

  constructor(target: FetchTarget) {
    this.#target = target;
  }

  call(
    path: string,
    context: AttemptContext,
    message: readonly Uint8Array[],
    _kind: AnswerKind,
    listener: RpcAnswerListener,
  ): OutgoingCall {
    const headers: [string, string][] = [
      ['content-type', `${contentType}+proto`],
      ['x-grpc-web', '1'],
    ];
    if (context.timeoutMs !== Number.POSITIVE_INFINITY) headers.push(['grpc-timeout', grpcTimeout(context.timeoutMs)]);
    const body = joined(message);
    const read = (answer: Response, to: RpcAnswerListener) => readAnswer(answer, to, this.#target.messageBytesMax);
    return fetchCall(this.#target, { path, headers, body, read }, context, listener);
  }

  /** Connections belong to the platform. */
  close(): void {}
}

async function readAnswer(answer: Response, listener: RpcAnswerListener, messageBytesMax: number): Promise<void> {
  const head = fieldsOf(answer.headers);
  const problem = headProblem(answer.status, head, contentTypes, `${contentType}+`);
  if (problem !== undefined) throw new BrokenAnswer(outcomeFromTrailers(head) ?? problem);
  let trailers: readonly RpcField[] | undefined;
  let hasHead = false;
  const tellHead = (): void => {
    if (!hasHead) listener.onHead(head);
    hasHead = true;
  };
  const reader = new AnswerReader((message, flag) => {
    if (trailers !== undefined) throw brokenAnswer('something follows the trailers of the answer');
    tellHead();
    if (flag === trailerFlag) trailers = trailersFrom(message);
    else if (flag === 0) listener.onMessage(message);
    else throw unknownFlag(flag);
  }, messageBytesMax);
  await eachPiece(answer, (piece) => reader.read(piece), listener.room);
  if (reader.isInMessage) throw brokenAnswer('the answer ended within a message');
  if (trailers === undefined && hasHead) throw brokenAnswer('the answer ended without a status');
  // Without a body the head has the trailers.
  const last = trailers ?? head;
  listener.onEnd(outcomeFromTrailers(last) ?? brokenOutcome('the answer has no gRPC status'), last);
}

/** Lines as in a head of HTTP/1.1. */
function trailersFrom(message: Uint8Array): readonly RpcField[] {
  const fields: RpcField[] = [];
  for (const line of new TextDecoder().decode(message).split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0)
      fields.push({ name: line.slice(0, colon).trim().toLowerCase(), value: line.slice(colon + 1).trim() });
  }
  return fields;
}
