/** Frames of the machine with what the host alone knows: stream id, epoch, model. */
import type { LinkFrame } from '@millrace/core';
import { streamProtocolVersion } from '@millrace/protocol';
import type { StreamLinkFrame } from './stream-gateway.ts';
import { endedFrameFrom } from './stream-refusals.ts';

export interface FrameSurroundings {
  readonly id: string;
  readonly opening: { readonly model: string; readonly version: string };
  readonly log: { readonly epoch: number };
  readonly warnings: readonly string[];
}

export function frameForLink(frame: LinkFrame<Uint8Array>, surroundings: FrameSurroundings): StreamLinkFrame {
  switch (frame.kind) {
    case 'opened': {
      const { id, opening, log, warnings } = surroundings;
      const { acceptedInput, nextOutput, inputCredit } = frame;
      return {
        kind: 'opened',
        streamId: id,
        epoch: log.epoch,
        model: opening.model,
        version: opening.version,
        protocolVersion: streamProtocolVersion,
        acceptedInput,
        nextOutput,
        inputCredit,
        warnings,
      };
    }
    case 'accepted':
      return { kind: 'accepted', input: frame.acceptedInput, inputCredit: frame.inputCredit };
    case 'output': {
      const { sequence, input, payload, isLast } = frame.output;
      return { kind: 'output', sequence, inputSequence: input, payload, endOfOutput: isLast };
    }
    case 'draining':
      return { kind: 'draining', message: 'this server is shutting down; connect again and resume the stream' };
    case 'ended':
      return endedFrameFrom(frame);
  }
}
