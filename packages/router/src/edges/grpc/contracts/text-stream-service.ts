/** The contract `inference.v1`: text in, tokens out, on a durable stream. */
import { bidi, type RequestStream, type RpcService, type StreamCall } from '@millrace/http';
import {
  file_inference_v1_inference,
  InferenceService,
  type InferRequest,
  InferRequestSchema,
  type InferResponse,
  InferResponseSchema,
} from '../../../proto/generated/inference/v1/inference_pb.ts';
import type { AddedService } from '../added-service.ts';
import { codecOf } from '../message-codec.ts';
import type { ContractParts } from './contract-parts.ts';
import { announceVersion, ProtocolVersions } from './protocol-versions.ts';
import { promptBytesMax, TextStream } from './text-stream.ts';

/** The prompt, and what is around it. */
const messageBytesMax = promptBytesMax + 1024;

const onlyVersion = { name: 'V1' };

export class TextStreamService implements AddedService {
  readonly file = file_inference_v1_inference;
  readonly #parts: ContractParts;
  readonly #versions = new ProtocolVersions(InferenceService.typeName, [onlyVersion]);

  constructor(parts: ContractParts) {
    this.#parts = parts;
  }

  get service(): RpcService {
    return {
      name: InferenceService.typeName,
      methods: [
        bidi({
          name: InferenceService.method.streamInfer.name,
          request: codecOf(InferRequestSchema, messageBytesMax),
          response: codecOf(InferResponseSchema),
          handle: (requests, call) => this.#serve(requests, call),
        }),
      ],
    };
  }

  /** Streams end or are given up by their host, which tells their clients. */
  end(): void {}

  #serve(requests: RequestStream<InferRequest>, call: StreamCall<InferResponse>): undefined {
    announceVersion(this.#versions.takeListed(call.metadata) ?? onlyVersion, call.leading);
    const stream = new TextStream(this.#parts, call, requests);
    // A caller may wait for the head of the answer before it sends anything.
    call.start();
    requests.listen(stream);
    return undefined;
  }
}
