/** Inferences over gRPC: one a call, or many on a stream. */
import { bidi, type RpcError, type RpcMethod, unary } from '@millrace/http';
import type { GrpcConfig } from './config.ts';
import type { GrpcInferOperation } from './infer.ts';
import { inferRequestCodec, inferResponseCodec, streamRequestCodec, streamResponseCodec } from './infer-codec.ts';
import { placeMessageFor } from './place-message.ts';
import type { StreamInferOperation } from './stream-infer.ts';

export const inferMethodName = 'ModelInfer';

export function modelInfer(
  operation: GrpcInferOperation,
  config: GrpcConfig,
  errorFrom: (error: unknown) => RpcError,
): RpcMethod {
  return unary({
    name: inferMethodName,
    request: inferRequestCodec(config, errorFrom),
    response: inferResponseCodec,
    isRequestLent: true,
    placeRequest: placeMessageFor(operation),
    handle: (message, call) => {
      operation.run(message, call);
      return undefined;
    },
  });
}

export function modelStreamInfer(streams: StreamInferOperation, config: GrpcConfig): RpcMethod {
  return bidi({
    name: 'ModelStreamInfer',
    request: streamRequestCodec(config),
    response: streamResponseCodec,
    handle: (requests, call) => streams.serve(requests, call),
  });
}
