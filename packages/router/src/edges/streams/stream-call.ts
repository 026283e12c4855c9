/** One connection of a client on a transport that calls back when it has room: passes frames on in both directions. */

import { type AcceptedFrame, InferenceError, type StreamClientFrame } from '@millrace/protocol';
import type {
  AttachedLink,
  StreamCaller,
  StreamGateway,
  StreamLinkFrame,
  StreamListenerOfLink,
} from '../../streams/stream-gateway.ts';

export interface StreamTransport {
  /** Sends at once. False: there is no room for more, and `StreamConversation.onRoom` is to be called when there is. */
  send(frame: StreamLinkFrame): boolean;
  /** The stream is found: until then the host queues what the client says, so edges read no more of it. */
  onOpened?(): void;
  /** Ends the connection after what was sent; with an error the stream was not opened or goes on elsewhere. */
  close(error: InferenceError | undefined): void;
}

/** For clients that acknowledge, the host is told of what the transport has taken when it is this much. */
const reportedOutputs = 64;
const reportedBytes = 64 * 1024;

export class StreamConversation implements StreamListenerOfLink {
  readonly #gateway: StreamGateway;
  readonly #caller: StreamCaller;
  readonly #transport: StreamTransport;
  #link: AttachedLink | undefined;
  #isAcknowledging: boolean = false;
  #lastSent = 0;
  #lastTaken = 0;
  /** Bytes of the outputs between them. */
  #untoldBytes = 0;
  #isBlocked: boolean = false;
  /** The latest `accepted` frame, which says all that those before it said, until the transport has room. */
  #heldAccepted: AcceptedFrame | undefined = undefined;
  #isRenewing: boolean = false;
  #isClosed: boolean = false;

  constructor(gateway: StreamGateway, caller: StreamCaller, transport: StreamTransport) {
    this.#gateway = gateway;
    this.#caller = caller;
    this.#transport = transport;
  }

  get isOpen(): boolean {
    return this.#link !== undefined;
  }

  receive(frame: StreamClientFrame): void {
    if (this.#isClosed) return;
    const link = this.#link;
    if (frame.kind === 'open') {
      if (link === undefined) this.#open(frame);
      else
        this.fail(
          new InferenceError('invalid-request', 'the connection has a stream already; open another connection'),
        );
    } else if (link === undefined) {
      this.fail(new InferenceError('invalid-request', `the first frame must be open, and is ${frame.kind}`));
    } else if (frame.kind === 'input') link.input(frame);
    else if (frame.kind === 'acknowledge') link.acknowledge(frame);
    else link.cancel(frame);
  }

  /** The transport has room again. */
  onRoom(): void {
    this.#isBlocked = false;
    const accepted = this.#heldAccepted;
    this.#heldAccepted = undefined;
    if (accepted !== undefined && !this.#isClosed) this.#isBlocked = !this.#transport.send(accepted);
    this.#renew();
  }

  /** The client says no more: the connection is closed when every accepted input is answered. */
  finish(): void {
    this.#link?.finish();
  }

  /** The client is gone: the stream waits for a resume. */
  detach(): void {
    this.#isClosed = true;
    this.#link?.detach();
  }

  /** What the client sent makes no sense; its stream, if any, goes on without this connection. */
  fail(error: InferenceError): void {
    if (this.#isClosed) return;
    this.detach();
    this.#transport.close(error);
  }

  #open(frame: StreamClientFrame & { readonly kind: 'open' }): void {
    this.#isAcknowledging = frame.outputCredit !== undefined;
    this.#lastSent = frame.resumeAfter;
    this.#lastTaken = frame.resumeAfter;
    this.#link = this.#gateway.attach(frame, this.#caller, { isAcknowledging: this.#isAcknowledging }, this);
  }

  /** The host has closed the connection. */
  onClosed(error: InferenceError | undefined): void {
    this.#isClosed = true;
    this.#transport.close(error);
  }

  /** The host has a frame for the client. */
  onFrame(frame: StreamLinkFrame): void {
    if (frame.kind === 'accepted' && this.#isBlocked) {
      this.#heldAccepted = frame;
      return;
    }
    const hasRoom = this.#transport.send(frame);
    if (!hasRoom) this.#isBlocked = true;
    if (frame.kind === 'opened') this.#transport.onOpened?.();
    if (frame.kind !== 'output') return;
    this.#lastSent = frame.sequence;
    this.#untoldBytes += frame.payload?.length ?? 0;
    if (this.#isRenewing || this.#isBlocked || !this.#isWorthTelling) return;
    // Once for all outputs that are sent together.
    this.#isRenewing = true;
    queueMicrotask(() => {
      this.#isRenewing = false;
      this.#renew();
    });
  }

  /** A client that acknowledges gives the credit itself: then the transport's room is all that the host is told of. */
  get #isWorthTelling(): boolean {
    if (!this.#isAcknowledging) return true;
    return this.#lastSent - this.#lastTaken >= reportedOutputs || this.#untoldBytes >= reportedBytes;
  }

  /** Only what a transport has taken makes room for more. */
  #renew(): void {
    if (this.#isBlocked || this.#isClosed || this.#lastTaken === this.#lastSent) return;
    this.#lastTaken = this.#lastSent;
    this.#untoldBytes = 0;
    this.#link?.taken(this.#lastSent);
  }
}
