/** Opens a stream for a client that will listen on another connection. */
import { type CancelSignal, InferenceError, type OpenedFrame } from '@millrace/protocol';
import type { StreamCaller, StreamGateway, StreamLinkFrame } from '../../streams/stream-gateway.ts';
import type { StreamBody } from '../streams/read-frame-json.ts';

/** Resolves when the stream is open and its input, if there is one, is durable: what was answered is never lost. */
export function openDetached(
  gateway: StreamGateway,
  { open, input }: StreamBody,
  caller: StreamCaller,
  signal: CancelSignal,
): Promise<OpenedFrame> {
  return new Promise((resolve, reject) => {
    let opened: OpenedFrame | undefined;
    const resolveOpened = (frame: OpenedFrame): void => {
      resolve(frame);
      link.detach();
    };
    const onFrame = (frame: StreamLinkFrame): void => {
      if (frame.kind === 'opened') {
        opened = frame;
        if (input === undefined || frame.acceptedInput >= input.sequence) resolveOpened(frame);
      } else if (opened === undefined) return;
      else if (frame.kind === 'accepted' && input !== undefined && frame.input >= input.sequence) {
        const { inputCredit = opened.inputCredit } = frame;
        resolveOpened({ ...opened, acceptedInput: frame.input, inputCredit });
      }
      // Who listens to it is told why.
      else if (frame.kind === 'ended') resolveOpened(opened);
    };
    const onClosed = (error: InferenceError | undefined): void => {
      if (error !== undefined) reject(error);
    };
    const link = gateway.attach(open, caller, { isAcknowledging: false }, { onFrame, onClosed });
    if (input !== undefined) link.input(input);
    signal.onCancel(() => {
      link.detach();
      reject(new InferenceError('cancelled', 'the caller went away'));
    });
  });
}
