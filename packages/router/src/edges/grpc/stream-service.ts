/** Durable streams over gRPC, gRPC-Web and Connect. */
import {
  bidi,
  clientStream,
  type RequestCodec,
  type RequestStream,
  type ResponseCodec,
  type RpcService,
  type StreamCall,
  serverStream,
  type UnaryCall,
} from '@millrace/http';
import { InferenceError, type StreamClientFrame } from '@millrace/protocol';
import { file_millrace_v1_inference, InferenceService } from '../../proto/generated/millrace/v1/inference_pb.ts';
import type { StreamGateway, StreamLinkFrame } from '../../streams/stream-gateway.ts';
import type { CallerRule } from '../caller.ts';
import { doAtOnce } from '../slices/slice-queue.ts';
import { defaultStreamFrameLimits } from '../streams/frame-limits.ts';
import { encodedOutputMessage, encodeLinkFrame, serverFrameOf } from '../streams/link-frame.ts';
import { type GenerateFrames, StreamFrameReader } from '../streams/read-frame.ts';
import { FrameJsonReader } from '../streams/read-frame-json.ts';
import { encodeCollectResponse } from '../streams/write-frame.ts';
import { writeCollectJson, writeFrameJson } from '../streams/write-frame-json.ts';
import type { AddedService } from './added-service.ts';
import { type Collected, collect } from './collect-call.ts';
import { FrameCall, type Readable } from './frame-call.ts';

export interface StreamServiceParts {
  readonly gateway: StreamGateway;
  readonly callers: CallerRule;
}

export class StreamService implements AddedService {
  readonly file = file_millrace_v1_inference;
  readonly #parts: StreamServiceParts;

  constructor(parts: StreamServiceParts) {
    this.#parts = parts;
  }

  get service(): RpcService {
    const reader = new StreamFrameReader(defaultStreamFrameLimits);
    const jsonReader = new FrameJsonReader(defaultStreamFrameLimits);
    const clientFrame: RequestCodec<Readable<StreamClientFrame>> = {
      fromProto: (bytes) => readable(() => reader.readClientFrame(bytes)),
      fromJson: (bytes) => readable(() => doAtOnce(jsonReader.readClientFrame(bytes))),
    };
    const serverFrame: ResponseCodec<StreamLinkFrame> = {
      toProto: encodeLinkFrame,
      toJson: (frame) => doAtOnce(writeFrameJson(serverFrameOf(frame))),
    };
    return {
      name: InferenceService.typeName,
      methods: [
        bidi({
          name: 'Stream',
          request: clientFrame,
          response: serverFrame,
          handle: (requests, call) => this.#stream(requests, call),
        }),
        serverStream({
          name: 'Generate',
          request: {
            fromProto: (bytes) => readable(() => reader.readGenerateRequest(bytes)),
            fromJson: (bytes) => readable(() => doAtOnce(jsonReader.readGenerateRequest(bytes))),
          },
          response: serverFrame,
          handle: (request, call) => this.#generate(request, call),
        }),
        clientStream({
          name: 'Collect',
          request: clientFrame,
          response: {
            toProto: ({ output, ended }: Collected) =>
              encodeCollectResponse(output && Buffer.concat(encodedOutputMessage(output)), ended),
            toJson: ({ output, ended }: Collected) => {
              const frame = output && serverFrameOf(output);
              return doAtOnce(writeCollectJson(frame?.kind === 'output' ? frame : undefined, ended));
            },
          },
          handle: (requests, call) => collect(requests, call, this.#parts.gateway, this.#callerOf(call)),
        }),
      ],
    };
  }

  /** Streams end or are given up by the host, which tells their clients. */
  end(): void {}

  #stream(requests: RequestStream<Readable<StreamClientFrame>>, call: StreamCall<StreamLinkFrame>): undefined {
    const frames = new FrameCall(call, requests, this.#parts.gateway, this.#callerOf(call));
    call.start();
    requests.listen(frames);
    return undefined;
  }

  #generate(request: Readable<GenerateFrames>, call: StreamCall<StreamLinkFrame>): undefined {
    const { conversation } = new FrameCall(call, undefined, this.#parts.gateway, this.#callerOf(call));
    if (request instanceof InferenceError) conversation.fail(request);
    else {
      conversation.receive(request.open);
      conversation.receive({ ...request.input, sequence: request.input.sequence || 1, endOfInput: true });
    }
    return undefined;
  }

  #callerOf(call: StreamCall<StreamLinkFrame> | UnaryCall<Collected>): { caller: string; principal: string } {
    return { caller: this.#parts.callers.callerOf(call.metadata, call.peer), principal: '' };
  }
}

function readable<Message>(read: () => Message): Readable<Message> {
  try {
    return read();
  } catch (error) {
    if (error instanceof InferenceError) return error;
    throw error;
  }
}
