/**
 * Streams over gRPC-Web or Connect: outputs are the answers of one call of `millrace.v1.InferenceService/Stream` whose only
 * request is `open`, and what the client says afterwards goes into requests of its own: pages cannot send while they receive.
 */
import { type InputFrame, MalformedMessage, type OpenFrame, type StreamClientFrame } from '@millrace/protocol';
import { MillraceError, unreachable } from '../../errors/millrace-error.ts';
import { decodeServerFrame } from '../../frames/read-server-frame.ts';
import { encodeClientFrame } from '../../frames/write-client-frame.ts';
import { StreamRequests } from '../fetch/stream-requests.ts';
import { errorFromOutcome } from '../rpc/error-from-outcome.ts';
import { type OutgoingCall, type RpcCaller, streamMethodPath, withPrefix } from '../rpc/rpc-call.ts';
import type { AttemptContext, LinkListener, LinkTransport, TransportLink } from '../transport.ts';
import type { FetchTarget } from './fetch-call.ts';

export class RpcLinks implements LinkTransport {
  readonly #caller: RpcCaller;
  readonly #target: FetchTarget;

  constructor(caller: RpcCaller, target: FetchTarget) {
    this.#caller = caller;
    this.#target = target;
  }

  connect(open: OpenFrame, context: AttemptContext, listener: LinkListener): TransportLink {
    return new RpcLink(this.#caller, this.#target, open, context, listener);
  }

  close(): void {}
}

class RpcLink implements TransportLink {
  readonly #requests: StreamRequests;
  readonly #listener: LinkListener;
  readonly #call: OutgoingCall;
  #isOver: boolean = false;

  constructor(
    caller: RpcCaller,
    { base, fetch: fetchFunction }: FetchTarget,
    open: OpenFrame,
    context: AttemptContext,
    listener: LinkListener,
  ) {
    this.#listener = listener;
    this.#requests = new StreamRequests(base, fetchFunction, open, context.headers, {
      onAccepted: (frame) => listener.onAccepted(frame),
      onFailure: (error) => this.#fail(error),
    });
    // Without credit of its own the server sends as fast as the response is read.
    const message = withPrefix(encodeClientFrame({ ...open, outputCredit: undefined }));
    this.#call = caller.call(streamMethodPath, context, message, 'stream', {
      onHead: () => {},
      onMessage: (bytes) => this.#onMessage(bytes),
      onEnd: (outcome) => {
        // Status OK without `ended` is a lost connection too.
        this.#fail(errorFromOutcome(outcome) ?? unreachable('the call ended before the stream', true));
      },
      room: () => this.#requests.room(),
    });
  }

  readonly ping = (frame: InputFrame): void => this.#requests.ping(frame);

  send(frame: StreamClientFrame): void {
    if (!this.#isOver) this.#requests.send(frame);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.stop();
    this.#requests.close();
  }

  #onMessage(bytes: Uint8Array): void {
    if (this.#isOver) return;
    try {
      const frame = decodeServerFrame(bytes);
      if (frame?.kind === 'output') this.#requests.onOutput(frame.sequence);
      if (frame === undefined) this.#listener.onActivity();
      else this.#listener.onFrame(frame);
    } catch (error) {
      if (!(error instanceof MalformedMessage || error instanceof MillraceError)) throw error;
      this.#fail(unreachable(error.message, true, error));
    }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.close();
    this.#listener.onClose(error instanceof MillraceError ? error : unreachable(String(error), true, error));
  }
}
