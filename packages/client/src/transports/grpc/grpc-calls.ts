/** Unary calls of `inference.GRPCInferenceService`. */
import { MalformedMessage, ProtoCursor } from '@millrace/protocol';
import { MillraceError, unreachable, unreadableAnswer } from '../../errors/millrace-error.ts';
import { ByteWriter } from '../../frames/byte-writer.ts';
import type {
  AttemptContext,
  CallTransport,
  InferCall,
  InferReply,
  ModelDescription,
  ModelListing,
  PendingCall,
} from '../transport.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { errorFromTrailers } from './error-from-status.ts';
import { decodeInferReply, encodeInferCall } from './infer-messages.ts';
import { messagePrefixBytes } from './message-reader.ts';
import { decodeModelDescription, decodeModelIndex } from './model-messages.ts';

const service = '/inference.GRPCInferenceService';
const inferPath = `${service}/ModelInfer`;

export class GrpcCallTransport implements CallTransport {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  infer(call: InferCall, context: AttemptContext): PendingCall<InferReply> {
    return this.#begin(inferPath, encodeInferCall(call), context, decodeInferReply);
  }

  describeModel(model: string, version: string, context: AttemptContext): PendingCall<ModelDescription> {
    return this.#begin(`${service}/ModelMetadata`, nameMessage(model, version), context, decodeModelDescription);
  }

  listModels(context: AttemptContext): PendingCall<readonly ModelListing[]> {
    return this.#begin(`${service}/RepositoryIndex`, nameMessage('', ''), context, decodeModelIndex);
  }

  isServerReady(context: AttemptContext): PendingCall<boolean> {
    return this.#begin(`${service}/ServerReady`, nameMessage('', ''), context, decodeFlag);
  }

  isModelReady(model: string, version: string, context: AttemptContext): PendingCall<boolean> {
    return this.#begin(`${service}/ModelReady`, nameMessage(model, version), context, decodeFlag);
  }

  close(): void {
    this.#pool.close();
  }

  #begin<Result>(
    path: string,
    body: readonly Uint8Array[],
    context: AttemptContext,
    decode: (message: Buffer) => Result,
  ): PendingCall<Result> {
    const pending = new UnaryCall(decode);
    const call = this.#pool.begin(path, context, body, true, pending);
    return { result: pending.result, stop: () => call.stop() };
  }
}

class UnaryCall<Result> {
  readonly result: Promise<Result>;
  readonly #decode: (message: Buffer) => Result;
  #resolve!: (result: Result) => void;
  #reject!: (error: MillraceError) => void;
  #message: Buffer | undefined = undefined;

  constructor(decode: (message: Buffer) => Result) {
    this.#decode = decode;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  onMessage(message: Buffer): void {
    this.#message = message;
  }

  onEnd(trailers: Parameters<typeof errorFromTrailers>[0], lost: MillraceError | undefined): void {
    const error = lost ?? errorFromTrailers(trailers);
    if (error !== undefined) this.#reject(error);
    else if (this.#message === undefined) this.#reject(unreachable('the answer has no message', true));
    else this.#settle(this.#message);
  }

  #settle(message: Buffer): void {
    try {
      this.#resolve(this.#decode(message));
    } catch (error) {
      if (error instanceof MillraceError) this.#reject(error);
      else if (error instanceof MalformedMessage) this.#reject(unreadableAnswer(error.message, error));
      else throw error;
    }
  }
}

/** Every request that has a name and a version has them as fields 1 and 2. */
function nameMessage(model: string, version: string): readonly Uint8Array[] {
  const writer = new ByteWriter();
  writer.text(1, model);
  writer.text(2, version);
  return prefixed(writer.take());
}

/** A message behind its prefix. */
export function prefixed(message: Uint8Array): readonly Uint8Array[] {
  const prefix = Buffer.alloc(messagePrefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return [prefix, message];
}

/** `ready` is field 1 of both answers. */
function decodeFlag(message: Buffer): boolean {
  const cursor = new ProtoCursor(message);
  let isReady = false;
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (tag === 0x08) isReady = cursor.readBool();
    else cursor.skip(tag);
  }
  return isReady;
}
