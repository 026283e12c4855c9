/** Connect: a unary call is a plain request with the message as its body; messages of a stream have prefixes, and its end is JSON. */
import { unreachable } from '../../errors/millrace-error.ts';
import { bytesFromBase64 } from '../../frames/base64.ts';
import {
  AnswerReader,
  BrokenAnswer,
  brokenAnswer,
  joined,
  tooLongOutcome,
  unknownFlag,
} from '../rpc/message-reader.ts';
import {
  type AnswerKind,
  messagePrefixBytes,
  type OutgoingCall,
  type RpcAnswerListener,
  type RpcCaller,
  type RpcDetail,
  type RpcField,
  type RpcOutcome,
  statusCode,
} from '../rpc/rpc-call.ts';
import { faultOutcome, headProblem, okOutcome, outcomeFromHttp, takeField } from '../rpc/rpc-outcome.ts';
import type { AttemptContext } from '../transport.ts';
import { eachPiece, type FetchTarget, fetchCall, fieldsOf } from './fetch-call.ts';

const unaryType = 'application/proto';
const streamType = 'application/connect+proto';
const endFlag = 0x02;

export class ConnectCaller implements RpcCaller {
  readonly #target: FetchTarget;

  constructor(target: FetchTarget) {
    this.#target = target;
  }

  call(
    path: string,
    context: AttemptContext,
    message: readonly Uint8Array[],
    kind: AnswerKind,
    listener: RpcAnswerListener,
  ): OutgoingCall {
    const headers: [string, string][] = [
      ['content-type', kind === 'unary' ? unaryType : streamType],
      ['connect-protocol-version', '1'],
    ];
    if (context.timeoutMs !== Number.POSITIVE_INFINITY) {
      headers.push(['connect-timeout-ms', String(Math.min(timeoutMsMax, Math.max(1, Math.ceil(context.timeoutMs))))]);
    }
    const whole = joined(message);
    const body = kind === 'unary' ? whole.subarray(messagePrefixBytes) : whole;
    const { messageBytesMax } = this.#target;
    const read = kind === 'unary' ? readUnary : readStream;
    return fetchCall(
      this.#target,
      { path, headers, body, read: (answer, to) => read(answer, to, messageBytesMax) },
      context,
      listener,
    );
  }

  /** Connections belong to the platform. */
  close(): void {}
}

/** Ten digits at most. */
const timeoutMsMax = 9_999_999_999;

async function readUnary(answer: Response, listener: RpcAnswerListener, messageBytesMax: number): Promise<void> {
  const fields = fieldsOf(answer.headers);
  const head = fields.filter(({ name }) => !name.startsWith(trailerPrefix));
  const trailers = fields
    .filter(({ name }) => name.startsWith(trailerPrefix))
    .map(({ name, value }) => ({ name: name.slice(trailerPrefix.length), value }));
  const [type = ''] = (takeField(head, 'content-type') ?? '').split(';', 1);
  const isError = answer.status !== 200 && type === 'application/json';
  const problem = isError ? undefined : headProblem(answer.status, head, [unaryType], 'application/json');
  if (problem !== undefined) throw new BrokenAnswer(problem);
  const encoding = takeField(head, 'content-encoding') ?? 'identity';
  if (!platformEncodings.has(encoding)) {
    throw brokenAnswer(`the answer has the encoding ${encoding}, which was not asked for`);
  }
  listener.onHead(head);
  // Errors are read in the same way, with the same limit.
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  await eachPiece(
    answer,
    (piece) => {
      bytes += piece.length;
      if (bytes > messageBytesMax) throw new BrokenAnswer(tooLongOutcome(bytes, messageBytesMax));
      pieces.push(piece);
    },
    undefined,
  );
  const body = joined(pieces);
  if (isError) {
    const byStatus = outcomeFromHttp(answer.status, head, `the server answered with HTTP status ${answer.status}`);
    listener.onEnd(errorFrom(takeJson(body), byStatus), trailers);
    return;
  }
  listener.onMessage(body);
  listener.onEnd(okOutcome, trailers);
}

const trailerPrefix = 'trailer-';
/** What `fetch` has asked for and undone. */
const platformEncodings = /* @__PURE__ */ new Set(['identity', 'gzip', 'x-gzip', 'deflate', 'br', 'zstd']);

async function readStream(answer: Response, listener: RpcAnswerListener, messageBytesMax: number): Promise<void> {
  const head = fieldsOf(answer.headers);
  const problem = headProblem(answer.status, head, [streamType], 'application/connect+');
  if (problem !== undefined) throw new BrokenAnswer(problem);
  listener.onHead(head);
  let end: { readonly outcome: RpcOutcome; readonly trailers: readonly RpcField[] } | undefined;
  const reader = new AnswerReader((message, flag) => {
    if (end !== undefined) throw brokenAnswer('something follows the end of the answer');
    if (flag === endFlag) end = endFrom(message);
    else if (flag === 0) listener.onMessage(message);
    else throw unknownFlag(flag);
  }, messageBytesMax);
  await eachPiece(answer, (piece) => reader.read(piece), listener.room);
  if (end === undefined || reader.isInMessage) {
    throw brokenAnswer('the answer ended without a status');
  }
  listener.onEnd(end.outcome, end.trailers);
}

/** `{"error": {…}, "metadata": {"name": ["value"]}}`, both optional. */
function endFrom(message: Uint8Array): { outcome: RpcOutcome; trailers: readonly RpcField[] } {
  const json = takeJson(message);
  if (!isObject(json)) throw brokenAnswer('the end of the answer is not JSON');
  const { error, metadata } = json;
  const trailers: RpcField[] = [];
  if (isObject(metadata)) {
    for (const [name, values] of Object.entries(metadata)) {
      for (const value of Array.isArray(values) ? values : []) {
        trailers.push({ name: name.toLowerCase(), value: String(value) });
      }
    }
  }
  const unknown = faultOutcome(statusCode.unknown, unreachable('the error of the answer has no known code', true));
  return { outcome: error === undefined || error === null ? okOutcome : errorFrom(error, unknown), trailers };
}

/** `otherwise` where it has no code that is known. */
function errorFrom(json: unknown, otherwise: RpcOutcome): RpcOutcome {
  if (!isObject(json)) return otherwise;
  const { code, message, details } = json;
  const number = typeof code === 'string' ? codeNames.indexOf(code) : -1;
  const text = typeof message === 'string' ? message : '';
  const read = { message: text, details: Array.isArray(details) ? details.flatMap(detailFrom) : [] };
  if (number < 1) return { ...otherwise, ...read };
  return { code: number, ...read, fault: undefined };
}

/** In the order of their numbers in gRPC, which Connect spells with underscores, and one of them in another way. */
const codeNames: readonly string[] = /* @__PURE__ */ Object.keys(statusCode).map((name) =>
  name === 'cancelled' ? 'canceled' : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
);

function detailFrom(json: unknown): RpcDetail[] {
  if (!isObject(json) || typeof json.type !== 'string' || typeof json.value !== 'string') return [];
  try {
    return [{ type: json.type, value: bytesFromBase64(json.value) }];
  } catch {
    // Not base64: of no use to anybody.
    return [];
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function takeJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
