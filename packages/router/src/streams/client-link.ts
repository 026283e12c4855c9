/** A connection of a client from the moment it opens: what it says before its stream is found waits. */
import type { LinkId, StreamMachineEvent } from '@millrace/core';
import {
  type AcknowledgeFrame,
  type CancelFrame,
  InferenceError,
  type InputFrame,
  quotedCharactersMax,
  type StreamCredit,
  type StreamPayload,
  shortened,
} from '@millrace/protocol';
import type { HostedStream } from './hosted-stream.ts';
import { inputRefusal } from './input-check.ts';
import type { PayloadCodec } from './payload-codec.ts';
import type { StreamClock } from './stream-clock.ts';
import type { AttachedLink, StreamLinkFrame, StreamListenerOfLink } from './stream-gateway.ts';
import { openRefusalFrom } from './stream-refusals.ts';

/** What a client may say before its stream is found. Edges read no further meanwhile, so these are far above what comes. */
const waitingFramesMax = 4096;
const waitingBytesMax = 32 * 1024 * 1024;

interface HeldBack {
  until: Promise<void>;
  readonly frames: StreamLinkFrame[];
  end: { readonly error: InferenceError | undefined } | undefined;
}

export class ClientLink implements AttachedLink, StreamListenerOfLink {
  readonly id: LinkId;
  readonly #listener: StreamListenerOfLink;
  readonly #clock: Pick<StreamClock, 'wallNow'>;
  readonly #codec: PayloadCodec;
  #stream: HostedStream | undefined;
  #credit: StreamCredit | undefined;
  /** What the client has said before the stream was found. */
  #waiting: StreamMachineEvent<Uint8Array>[] | undefined;
  #waitingBytes = 0;
  #isFinishing: boolean = false;
  /** What waits until the journal knows of the client. */
  #held: HeldBack | undefined;
  isDetached: boolean = false;

  constructor(id: LinkId, listener: StreamListenerOfLink, clock: Pick<StreamClock, 'wallNow'>, codec: PayloadCodec) {
    this.id = id;
    this.#listener = listener;
    this.#clock = clock;
    this.#codec = codec;
  }

  /** `credit`: what the client is sent ahead where it does not give the credit itself. */
  passTo(stream: HostedStream, credit: StreamCredit | undefined): void {
    this.#stream = stream;
    this.#credit = credit;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const event of waiting ?? []) {
      if (!this.isDetached) this.#pass(stream, event, undefined);
    }
    if (this.#isFinishing) stream.finish(this.id);
  }

  input(frame: InputFrame): void {
    if (this.isDetached) return;
    const event = inputEvent(this.id, frame, this.#clock, this.#codec);
    if (this.#stream === undefined) this.#wait(event);
    else this.#pass(this.#stream, event, frame.payload);
  }

  acknowledge({ output, outputCredit }: AcknowledgeFrame): void {
    this.#tell({ kind: 'acknowledged', link: this.id, output, credit: outputCredit });
  }

  cancel({ reason }: CancelFrame): void {
    this.#tell({ kind: 'cancelled', link: this.id, message: cancelMessage('the client', reason) });
  }

  taken(output: number): void {
    this.#tell({ kind: 'taken', link: this.id, output, credit: this.#credit });
  }

  finish(): void {
    this.#isFinishing = true;
    this.#stream?.finish(this.id);
  }

  detach(): void {
    if (this.isDetached) return;
    this.isDetached = true;
    this.#waiting = undefined;
    this.#stream?.detach(this.id);
  }

  holdBack(until: Promise<void>): void {
    this.#held ??= { until, frames: [], end: undefined };
    this.#held.until = until;
    until.then(
      () => {
        const held = this.#held;
        // A frame may lead to further ones at once: those come behind what is held.
        while (held?.until === until && held.frames.length > 0) this.#passOn(held.frames.shift() as StreamLinkFrame);
        // Another one left meanwhile: that this one is there is noted later.
        if (held?.until !== until) return;
        this.#held = undefined;
        if (held.end !== undefined) this.onClosed(held.end.error);
      },
      (error: unknown) => {
        const end = this.#held?.end;
        this.#held = undefined;
        this.onClosed(end?.error ?? openRefusalFrom(error));
      },
    );
  }

  onFrame(frame: StreamLinkFrame): void {
    if (this.#held !== undefined) {
      this.#held.frames.push(frame);
      return;
    }
    this.#passOn(frame);
  }

  #passOn(frame: StreamLinkFrame): void {
    if (this.isDetached) return;
    try {
      this.#listener.onFrame(frame);
    } catch (error) {
      // A defect of an edge ends this connection, and not the stream.
      this.detach();
      this.#listener.onClosed(new InferenceError('internal', 'internal error of the server', { cause: error }));
    }
  }

  onClosed(error: InferenceError | undefined): void {
    if (this.#held !== undefined) {
      this.#held.end = { error };
      return;
    }
    if (this.isDetached) return;
    this.isDetached = true;
    this.#listener.onClosed(error);
  }

  #tell(event: StreamMachineEvent<Uint8Array>): void {
    if (this.isDetached) return;
    if (this.#stream === undefined) this.#wait(event);
    else this.#stream.tell(event);
  }

  /** `payload`: of an input, before it was encoded; undefined: it is read again. */
  #pass(stream: HostedStream, event: StreamMachineEvent<Uint8Array>, payload: StreamPayload | undefined): void {
    if (event.kind === 'input' && event.input.payload !== undefined) {
      const given = payload ?? this.#codec.decodeInput(event.input.payload);
      const refusal = inputRefusal(stream.pin, event.input.sequence, given);
      if (refusal !== undefined) {
        stream.leaveLink(this.id, refusal);
        return;
      }
    }
    stream.tell(event);
  }

  #wait(event: StreamMachineEvent<Uint8Array>): void {
    this.#waitingBytes += event.kind === 'input' ? (event.input.payload?.byteLength ?? 0) : 0;
    this.#waiting ??= [];
    this.#waiting.push(event);
    if (this.#waiting.length <= waitingFramesMax && this.#waitingBytes <= waitingBytesMax) return;
    this.#waiting = undefined;
    this.onClosed(
      new InferenceError(
        'request-too-large',
        `more than ${waitingFramesMax} frames or ${waitingBytesMax} bytes came before the stream was opened; wait for opened`,
      ),
    );
  }
}

export function inputEvent(
  link: LinkId | undefined,
  frame: InputFrame,
  clock: Pick<StreamClock, 'wallNow'>,
  codec: Pick<PayloadCodec, 'encodeInput'>,
): StreamMachineEvent<Uint8Array> & { kind: 'input' } {
  const { sequence, payload, endOfInput, eventTimeMs, deadlineMs } = frame;
  return {
    kind: 'input',
    link,
    input: {
      sequence,
      payload: payload.kind === 'none' ? undefined : codec.encodeInput(payload),
      isLast: endOfInput,
      eventTime: eventTimeMs,
      deadlineAt: deadlineMs === undefined ? Number.POSITIVE_INFINITY : clock.wallNow() + deadlineMs,
    },
  };
}

/** It is journaled, and told to whoever resumes: so a long reason is cut. */
export function cancelMessage(by: 'the client' | 'an operator', reason: string): string {
  const message = `cancelled by ${by}`;
  return reason === '' ? message : `${message}: ${shortened(reason, quotedCharactersMax)}`;
}
