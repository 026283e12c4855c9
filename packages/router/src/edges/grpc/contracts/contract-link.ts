/** The one stream of a call of a compatibility contract. A call that ends early leaves a stream with an id, and cancels one without. */
import type { EndedFrame, InferenceError, InputFrame, OpenedFrame, OpenFrame } from '@millrace/protocol';
import { streamProtocolVersion } from '@millrace/protocol';
import type { EncodedOutput, StreamCaller, StreamGateway, StreamLinkFrame } from '../../../streams/stream-gateway.ts';
import { StreamConversation, type StreamTransport } from '../../streams/stream-call.ts';

/** The call, as its stream uses it. */
export interface ContractLinkOwner {
  onOpened(opened: OpenedFrame): void;
  /** More inputs may be sent. */
  onAccepted(input: number, credit: OpenedFrame['inputCredit'] | undefined): void;
  /** False: there is no room for more, and `ContractLink.onRoom` is to be called when there is. */
  onOutput(output: EncodedOutput): boolean;
  onEnded(ended: EndedFrame): void;
  /** Nothing more comes. With an error the stream was not opened, or goes on elsewhere. */
  onClosed(error: InferenceError | undefined): void;
}

export class ContractLink implements StreamTransport {
  readonly #conversation: StreamConversation;
  readonly #call: ContractLinkOwner;
  #hasId: boolean = true;
  #isOpening: boolean = false;
  /** The call ended before its stream was opened. */
  #isAbandoned: boolean = false;
  #isOver: boolean = false;

  constructor(gateway: StreamGateway, caller: StreamCaller, call: ContractLinkOwner) {
    this.#call = call;
    this.#conversation = new StreamConversation(gateway, caller, this);
  }

  open(frame: Omit<OpenFrame, 'kind' | 'protocolVersions'>): void {
    this.#hasId = frame.streamId !== undefined;
    this.#isOpening = true;
    this.#conversation.receive({ kind: 'open', protocolVersions: [streamProtocolVersion], ...frame });
  }

  input(frame: Omit<InputFrame, 'kind'>): void {
    this.#conversation.receive({ kind: 'input', ...frame });
  }

  /** The client says no more: the connection is closed when every accepted input is answered. */
  finish(): void {
    this.#conversation.finish();
  }

  /** The transport has room again. */
  onRoom(): void {
    this.#conversation.onRoom();
  }

  /** The call is over. May be called more than once. */
  leave(): void {
    if (this.#isOver) return;
    if (this.#hasId || !this.#conversation.isOpen) this.#detach();
    // A stream that nobody knows the id of is cancelled as soon as it is there.
    else if (this.#isOpening) this.#isAbandoned = true;
    else this.#cancel();
  }

  send(frame: StreamLinkFrame): boolean {
    if (frame.kind === 'opened') {
      this.#isOpening = false;
      if (this.#isAbandoned) this.#cancel();
      else this.#call.onOpened(frame);
      return true;
    }
    if (this.#isAbandoned) return true;
    if (frame.kind === 'output') return this.#call.onOutput(frame);
    if (frame.kind === 'accepted') this.#call.onAccepted(frame.input, frame.inputCredit);
    else if (frame.kind === 'ended') this.#call.onEnded(frame);
    // A draining server closes the connection with the same reason.
    return true;
  }

  close(error: InferenceError | undefined): void {
    this.#isOver = true;
    if (!this.#isAbandoned) this.#call.onClosed(error);
  }

  #cancel(): void {
    this.#isAbandoned = true;
    this.#conversation.receive({ kind: 'cancel', reason: 'the call ended, and its stream has no id' });
    this.#detach();
  }

  #detach(): void {
    this.#isOver = true;
    this.#conversation.detach();
  }
}

/** Metadata takes nothing else. */
export function asciiFrom(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}
