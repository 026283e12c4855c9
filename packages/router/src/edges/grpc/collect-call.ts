/** The call `Collect`: inputs as a stream, the last output and the end as one answer. */
import type { RequestStream, UnaryCall } from '@millrace/http';
import { type EndedFrame, InferenceError, type StreamClientFrame, streamPayloadBytes } from '@millrace/protocol';
import type { EncodedOutput, StreamCaller, StreamGateway } from '../../streams/stream-gateway.ts';
import { StreamConversation } from '../streams/stream-call.ts';
import { DurableInputFlow } from './durable-input-flow.ts';
import { passFrame, type Readable } from './frame-call.ts';

export interface Collected {
  readonly output: EncodedOutput | undefined;
  readonly ended: EndedFrame;
}

export function collect(
  requests: RequestStream<Readable<StreamClientFrame>>,
  call: UnaryCall<Collected>,
  gateway: StreamGateway,
  caller: StreamCaller,
): undefined {
  let output: EncodedOutput | undefined;
  // A caller of Collect hears nothing of its credit: it is held back by not being read.
  let inputs: DurableInputFlow | undefined;
  const isHeld = (): boolean => inputs !== undefined && !inputs.hasRoomFor(inputs.next);
  const conversation = new StreamConversation(gateway, caller, {
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
    onOpened: () => requests.resume(),
    close: (error) => {
      if (error !== undefined) call.fail(error);
    },
  });
  call.signal.onCancel(() => {
    conversation.detach();
    // The call has ended; this releases what it still holds of its connection.
    call.fail(new InferenceError('cancelled', 'the caller went away'));
  });
  call.whenEnded(() => conversation.detach());
  requests.listen({
    onMessage: (frame) => {
      passFrame(frame, conversation, requests);
      if (frame instanceof InferenceError || frame.kind !== 'input') return;
      inputs?.add(frame.sequence, streamPayloadBytes(frame.payload), '');
      if (isHeld()) requests.pause();
    },
    onEnd: () => {},
  });
  return undefined;
}
