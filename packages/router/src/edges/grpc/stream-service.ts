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
import { type EndedFrame, InferenceError, type StreamClientFrame, streamPayloadBytes } from '@millrace/protocol';
import { file_millrace_v1_inference, InferenceService } from '../../proto/generated/millrace/v1/inference_pb.ts';
import type { EncodedOutput, StreamGateway, StreamLinkFrame } from '../../streams/stream-gateway.ts';
import type { CallerRule } from '../caller.ts';
import { doAtOnce } from '../slices/slice-queue.ts';
import { defaultStreamFrameLimits } from '../streams/frame-limits.ts';
import { encodedOutputMessage, encodeLinkFrame, serverFrameOf } from '../streams/link-frame.ts';
import { type GenerateFrames, StreamFrameReader } from '../streams/read-frame.ts';
import { FrameJsonReader } from '../streams/read-frame-json.ts';
import { StreamConversation } from '../streams/stream-call.ts';
import { encodeCollectResponse } from '../streams/write-frame.ts';
import { writeCollectJson, writeFrameJson } from '../streams/write-frame-json.ts';
import type { AddedService } from './added-service.ts';
import { DurableInputFlow } from './durable-input-flow.ts';

/** A message that cannot be read ends its call with the reason, in the catalogue's form. */
type Readable<Message> = Message | InferenceError;

interface Collected {
  readonly output: EncodedOutput | undefined;
  readonly ended: EndedFrame;
}

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
          handle: (requests, call) => this.#collect(requests, call),
        }),
      ],
    };
  }

  /** Streams end or are given up by the host, which tells their clients. */
  end(): void {}

  #stream(requests: RequestStream<Readable<StreamClientFrame>>, call: StreamCall<StreamLinkFrame>): undefined {
    const conversation = this.#conversationOn(call);
    call.start();
    listenTo(requests, conversation);
    return undefined;
  }

  #generate(request: Readable<GenerateFrames>, call: StreamCall<StreamLinkFrame>): undefined {
    const conversation = this.#conversationOn(call);
    if (request instanceof InferenceError) conversation.fail(request);
    else {
      conversation.receive(request.open);
      conversation.receive({ ...request.input, sequence: request.input.sequence || 1, endOfInput: true });
    }
    return undefined;
  }

  #collect(requests: RequestStream<Readable<StreamClientFrame>>, call: UnaryCall<Collected>): undefined {
    let output: EncodedOutput | undefined;
    // A caller of Collect hears nothing of its credit: it is held back by not being read.
    let inputs: DurableInputFlow | undefined;
    const isHeld = (): boolean => inputs !== undefined && !inputs.hasRoomFor(inputs.next);
    const conversation = new StreamConversation(this.#parts.gateway, this.#callerOf(call), {
      send: (frame) => {
        if (frame.kind === 'output' && frame.payload !== undefined) output = frame;
        else if (frame.kind === 'opened') inputs = new DurableInputFlow(frame.acceptedInput, frame.inputCredit);
        else if (frame.kind === 'accepted') {
          inputs?.accept(frame.input, frame.inputCredit);
          if (!isHeld()) requests.resume();
        } else if (frame.kind === 'ended') {
          if (frame.outcome === 'done') call.answer({ output, ended: frame });
          else call.fail(new InferenceError(frame.code ?? 'internal', frame.message));
        }
        return true;
      },
      close: (error) => {
        if (error !== undefined) call.fail(error);
      },
    });
    detachWith(conversation, call);
    listenTo(requests, conversation, (frame) => {
      if (frame.kind !== 'input') return;
      inputs?.add(frame.sequence, streamPayloadBytes(frame.payload), '');
      if (isHeld()) requests.pause();
    });
    return undefined;
  }

  #conversationOn(call: StreamCall<StreamLinkFrame>): StreamConversation {
    const conversation = new StreamConversation(this.#parts.gateway, this.#callerOf(call), {
      send: (frame) => {
        const hasRoom = call.send(frame);
        if (!hasRoom) call.onRoom = () => conversation.onRoom();
        return hasRoom;
      },
      close: (error) => (error === undefined ? call.end() : call.fail(error)),
    });
    detachWith(conversation, call);
    return conversation;
  }

  #callerOf(call: StreamCall<StreamLinkFrame> | UnaryCall<Collected>): { caller: string; principal: string } {
    return { caller: this.#parts.callers.callerOf(call.metadata, call.peer), principal: '' };
  }
}

function listenTo(
  requests: RequestStream<Readable<StreamClientFrame>>,
  conversation: StreamConversation,
  onPassed?: (frame: StreamClientFrame) => void,
): void {
  conversation.onOpened = () => requests.resume();
  requests.listen({
    onMessage: (frame) => {
      if (frame instanceof InferenceError) conversation.fail(frame);
      else {
        if (frame.kind === 'open') requests.pause();
        conversation.receive(frame);
        onPassed?.(frame);
      }
    },
    // More inputs may come by another connection: the last one says that it is the last.
    onEnd: () => {},
  });
}

function readable<Message>(read: () => Message): Readable<Message> {
  try {
    return read();
  } catch (error) {
    if (error instanceof InferenceError) return error;
    throw error;
  }
}

/** A lost connection and a deadline of the call detach the stream; only a `cancel` frame ends it. */
function detachWith(conversation: StreamConversation, call: StreamCall<StreamLinkFrame> | UnaryCall<Collected>): void {
  call.signal.onCancel(() => {
    conversation.detach();
    if ('end' in call) call.end();
  });
  call.whenEnded(() => conversation.detach());
}
