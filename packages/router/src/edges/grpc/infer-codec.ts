/** The messages of ModelInfer and ModelStreamInfer: protobuf read and written by hand, JSON by way of the generated code. */
import { fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import type { RequestCodec, ResponseCodec, RpcError } from '@millrace/http';
import { InferenceError } from '@millrace/protocol';
import {
  type ModelInferRequest,
  ModelInferRequestSchema,
  ModelStreamInferResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import { doAtOnce } from '../slices/slice-queue.ts';
import { encodeResponse, type InferResponse } from './encode-response.ts';
import { encodeStreamResponse, type StreamResponse } from './encode-stream-response.ts';
import { type InferMessage, type InferMessageLimits, InferMessageReader } from './infer-message.ts';
import { JsonRequest } from './json-request.ts';
import { encodeJson, JsonResponse } from './json-response.ts';
import { checkJsonLength, jsonAtOnceBytesMax, jsonFrom, readJson } from './message-codec.ts';
import type { StreamedMessage } from './stream-infer.ts';

/** Limits of messages in both forms. */
export interface InferCodecLimits extends InferMessageLimits {
  readonly jsonBytesMax: number;
}

export function inferRequestCodec(
  limits: InferCodecLimits,
  errorFrom: (error: unknown) => RpcError,
): RequestCodec<InferMessage | JsonRequest> {
  const reader = new InferMessageReader(limits);
  return {
    fromProto: (bytes, tail) => {
      try {
        return reader.read(bytes, tail);
      } catch (error) {
        throw error instanceof InferenceError ? errorFrom(error) : error;
      }
    },
    fromJson: (bytes) => {
      checkJsonLength(bytes, limits.jsonBytesMax);
      try {
        return readJson(() => new JsonRequest(bytes, reader));
      } catch (error) {
        throw error instanceof InferenceError ? errorFrom(error) : error;
      }
    },
  };
}

/** A message over a limit is a refused request; the stream continues. */
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
    fromJson: (bytes) => {
      // Read at once, because the messages of a stream must stay in order.
      checkJsonLength(bytes, jsonAtOnceBytesMax);
      const json = (): ModelInferRequest => fromJson(ModelInferRequestSchema, jsonFrom(bytes));
      return read(toBinary(ModelInferRequestSchema, readJson(json)));
    },
  };
}

export const streamResponseCodec: ResponseCodec<StreamResponse> = {
  toProto: encodeStreamResponse,
  toJson: (response) => {
    const message = fromBinary(ModelStreamInferResponseSchema, Buffer.concat(encodeStreamResponse(response)));
    return Buffer.from(JSON.stringify(toJson(ModelStreamInferResponseSchema, message)));
  },
};

export const inferResponseCodec: ResponseCodec<InferResponse | JsonResponse> = {
  toProto: (response) => {
    if (response instanceof JsonResponse) throw new Error('a JSON response cannot be written as protobuf');
    return encodeResponse(response);
  },
  toJson: (response) => (response instanceof JsonResponse ? response.pieces : doAtOnce(encodeJson(response)).pieces),
};
