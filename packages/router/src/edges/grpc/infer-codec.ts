/** The messages of ModelInfer and ModelStreamInfer: protobuf read and written by hand, JSON by way of the generated code. */
import { fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import type { RequestCodec, ResponseCodec, RpcError } from '@millrace/http';
import { InferenceError } from '@millrace/protocol';
import { encodeResponse, type InferResponse } from './encode-response.ts';
import { encodeStreamResponse, type StreamResponse } from './encode-stream-response.ts';
import {
  ModelInferRequestSchema,
  ModelInferResponseSchema,
  ModelStreamInferResponseSchema,
} from './generated/inference/grpc_service_pb.ts';
import { type InferMessage, type InferMessageLimits, InferMessageReader } from './infer-message.ts';
import { jsonFrom } from './message-codec.ts';
import type { StreamedMessage } from './stream-infer.ts';

export function inferRequestCodec(
  limits: InferMessageLimits,
  errorFrom: (error: unknown) => RpcError,
): RequestCodec<InferMessage> {
  const reader = new InferMessageReader(limits);
  const read = (bytes: Uint8Array): InferMessage => {
    try {
      return reader.read(bytes);
    } catch (error) {
      throw error instanceof InferenceError ? errorFrom(error) : error;
    }
  };
  return {
    fromProto: read,
    fromJson: (bytes) => read(toBinary(ModelInferRequestSchema, fromJson(ModelInferRequestSchema, jsonFrom(bytes)))),
  };
}

/** A message over a limit is one request that is refused; the stream goes on. */
export function streamRequestCodec(limits: InferMessageLimits): RequestCodec<StreamedMessage> {
  const reader = new InferMessageReader(limits);
  const read = (bytes: Uint8Array): StreamedMessage => {
    try {
      return reader.read(bytes);
    } catch (error) {
      if (error instanceof InferenceError) return error;
      throw error;
    }
  };
  return {
    fromProto: read,
    fromJson: (bytes) => read(toBinary(ModelInferRequestSchema, fromJson(ModelInferRequestSchema, jsonFrom(bytes)))),
  };
}

export const streamResponseCodec: ResponseCodec<StreamResponse> = {
  toProto: encodeStreamResponse,
  toJson: (response) => {
    const message = fromBinary(ModelStreamInferResponseSchema, Buffer.concat(encodeStreamResponse(response)));
    return Buffer.from(JSON.stringify(toJson(ModelStreamInferResponseSchema, message)));
  },
};

export const inferResponseCodec: ResponseCodec<InferResponse> = {
  toProto: encodeResponse,
  toJson: (response) => {
    const message = fromBinary(ModelInferResponseSchema, Buffer.concat(encodeResponse(response)));
    return Buffer.from(JSON.stringify(toJson(ModelInferResponseSchema, message)));
  },
};
