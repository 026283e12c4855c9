/** Unary calls of `inference.GRPCInferenceService`, over any protocol that carries methods. */
import { MalformedMessage, ProtoCursor } from '@millrace/protocol';
import { MillraceError, unreadableAnswer } from '../../errors/millrace-error.ts';
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
import { errorFromOutcome } from './error-from-outcome.ts';
import { decodeInferReply, encodeInferCall } from './infer-messages.ts';
import { decodeModelDescription, decodeModelIndex } from './model-messages.ts';
import { type RpcCaller, withPrefix } from './rpc-call.ts';
import { callUnary } from './unary-call.ts';

const service = '/inference.GRPCInferenceService';
const inferPath = `${service}/ModelInfer`;

export class RpcCallTransport implements CallTransport {
  readonly #caller: RpcCaller;

  constructor(caller: RpcCaller) {
    this.#caller = caller;
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
    this.#caller.close();
  }

  #begin<Result>(
    path: string,
    body: readonly Uint8Array[],
    context: AttemptContext,
    decode: (message: Uint8Array) => Result,
  ): PendingCall<Result> {
    let stop = (): void => {};
    const result = new Promise<Result>((resolve, reject) => {
      const call = callUnary(this.#caller, path, context, body, (outcome, message) => {
        const error = errorFromOutcome(outcome);
        if (error !== undefined || message === undefined) reject(error);
        else settle(message, decode, resolve, reject);
      });
      stop = () => call.stop();
    });
    return { result, stop };
  }
}

function settle<Result>(
  message: Uint8Array,
  decode: (message: Uint8Array) => Result,
  resolve: (result: Result) => void,
  reject: (error: MillraceError) => void,
): void {
  try {
    resolve(decode(message));
  } catch (error) {
    if (error instanceof MillraceError) reject(error);
    else if (error instanceof MalformedMessage) reject(unreadableAnswer(error.message, error));
    else throw error;
  }
}

/** Every request that has a name and a version has them as fields 1 and 2. */
function nameMessage(model: string, version: string): readonly Uint8Array[] {
  const writer = new ByteWriter();
  writer.text(1, model);
  writer.text(2, version);
  return withPrefix(writer.take());
}

/** `ready` is field 1 of both answers. */
function decodeFlag(message: Uint8Array): boolean {
  const cursor = new ProtoCursor(message);
  let isReady = false;
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (tag === 0x08) isReady = cursor.readBool();
    else cursor.skip(tag);
  }
  return isReady;
}
