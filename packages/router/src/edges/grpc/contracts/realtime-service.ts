/** The contract `realtime.inference`: one message each way for every kind of model. */
import { bidi, type RequestStream, type RpcService, type StreamCall, type UnaryCall, unary } from '@millrace/http';
import {
  file_realtime_inference_inference,
  type InferenceRequest,
  type InferenceResponse,
  InferenceResponseSchema,
  InferenceService,
} from '../../../proto/generated/realtime/inference/inference_pb.ts';
import type { AddedService } from '../added-service.ts';
import { codecOf } from '../message-codec.ts';
import { Predict } from './predict.ts';
import { announceVersion, ProtocolVersions } from './protocol-versions.ts';
import {
  errorResponse,
  type RealtimeVersion,
  realtimeVersions,
  versionNameOf,
  withResponse,
} from './realtime-answer.ts';
import { realtimeRequestCodec } from './realtime-codec.ts';
import type { RealtimeParts } from './realtime-parts.ts';
import { requestIdOf } from './realtime-request.ts';
import { RealtimeStream } from './realtime-stream.ts';

export class RealtimeService implements AddedService {
  readonly file = file_realtime_inference_inference;
  readonly #parts: RealtimeParts;
  readonly #versions = new ProtocolVersions(InferenceService.typeName, realtimeVersions);

  constructor(parts: RealtimeParts) {
    this.#parts = parts;
  }

  get service(): RpcService {
    const request = realtimeRequestCodec();
    const response = codecOf(InferenceResponseSchema);
    const { predict, predictStream } = InferenceService.method;
    return {
      name: InferenceService.typeName,
      methods: [
        unary({ name: predict.name, request, response, handle: (message, call) => this.#predict(message, call) }),
        bidi({
          name: predictStream.name,
          request,
          response,
          handle: (requests, call) => this.#predictStream(requests, call),
        }),
      ],
    };
  }

  /** Streams end or are given up by their host, which tells their clients. */
  end(): void {}

  #predict(message: InferenceRequest, call: UnaryCall<InferenceResponse>): undefined {
    let version: RealtimeVersion;
    try {
      version = this.#versions.takeListed(call.metadata) ?? this.#versions.mustServe(versionNameOf(message.version));
    } catch (error) {
      const told = this.#parts.errorFrom(error);
      call.fail(withResponse(told, errorResponse(realtimeVersions[0], requestIdOf(message), told.message)));
      return undefined;
    }
    announceVersion(version, call.leading);
    new Predict(this.#parts, call, version).run(message);
    return undefined;
  }

  #predictStream(requests: RequestStream<InferenceRequest>, call: StreamCall<InferenceResponse>): undefined {
    const versions = this.#versions;
    let chosen: RealtimeVersion | undefined;
    const stream = new RealtimeStream(this.#parts, call, requests, realtimeVersions[0], (message) => {
      const version = versions.takeListed(call.metadata) ?? versions.mustServe(versionNameOf(message.version));
      if (chosen === undefined) announceVersion(version, call.leading);
      chosen ??= version;
      return version;
    });
    requests.listen(stream);
    return undefined;
  }
}
