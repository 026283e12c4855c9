/** A gateway whose streams do what a test says. */
import {
  type AcceptedFrame,
  type AcknowledgeFrame,
  type CancelFrame,
  InferenceError,
  type InputFrame,
  type OpenedFrame,
  type OpenFrame,
} from '@millrace/protocol';
import type {
  AttachedLink,
  AttachOptions,
  StreamCaller,
  StreamGateway,
  StreamListenerOfLink,
  StreamStatus,
} from '../../../streams/stream-gateway.ts';
import { payloadCodec } from '../link-frame.ts';

/** A connection that the edge has attached, and what it said. */
export class ScriptedClientLink implements AttachedLink {
  readonly open: OpenFrame;
  readonly caller: StreamCaller;
  readonly options: AttachOptions;
  readonly listener: StreamListenerOfLink;
  readonly inputs: InputFrame[] = [];
  readonly takenOutputs: number[] = [];
  isDetached: boolean = false;
  isFinishing: boolean = false;
  isCancelled: boolean = false;

  constructor(open: OpenFrame, caller: StreamCaller, options: AttachOptions, listener: StreamListenerOfLink) {
    this.open = open;
    this.caller = caller;
    this.options = options;
    this.listener = listener;
  }

  input(frame: InputFrame): void {
    this.inputs.push(frame);
  }

  acknowledge(): void {}

  cancel(): void {
    this.isCancelled = true;
  }

  taken(output: number): void {
    this.takenOutputs.push(output);
  }

  detach(): void {
    this.isDetached = true;
  }

  finish(): void {
    this.isFinishing = true;
  }

  sendOpened(streamId: string, change: Partial<OpenedFrame> = {}): void {
    this.listener.onFrame({
      kind: 'opened',
      streamId,
      epoch: 1,
      model: 'm',
      version: '1',
      protocolVersion: 1,
      acceptedInput: 0,
      nextOutput: this.open.resumeAfter + 1,
      inputCredit: { messages: 8, bytes: 1024 },
      warnings: [],
      ...change,
    });
  }

  sendText(sequence: number, text: string): void {
    const payload = payloadCodec.encodeOutput({ kind: 'text', text });
    this.listener.onFrame({ kind: 'output', sequence, inputSequence: 1, payload, endOfOutput: false });
  }

  sendEnded(outputs: number): void {
    this.listener.onFrame({ kind: 'ended', outcome: 'done', message: '', outputs });
    this.listener.onClosed(undefined);
  }
}

export class ScriptedGateway implements StreamGateway {
  readonly links: ScriptedClientLink[] = [];
  readonly calls: (readonly [string, string, InputFrame | AcknowledgeFrame | CancelFrame])[] = [];
  /** Ids that calls beside a connection find. */
  readonly known = new Set<string>();
  #onLink: ((link: ScriptedClientLink) => void) | undefined;

  attach(open: OpenFrame, caller: StreamCaller, options: AttachOptions, listener: StreamListenerOfLink): AttachedLink {
    const link = new ScriptedClientLink(open, caller, options, listener);
    this.links.push(link);
    this.#onLink?.(link);
    return link;
  }

  /** The next connection that is attached. */
  nextLink(): Promise<ScriptedClientLink> {
    return new Promise((resolve) => {
      this.#onLink = resolve;
    });
  }

  async input(stream: string, frame: InputFrame): Promise<AcceptedFrame> {
    this.#call('input', stream, frame);
    return { kind: 'accepted', input: frame.sequence };
  }

  async acknowledge(stream: string, frame: AcknowledgeFrame): Promise<void> {
    this.#call('acknowledge', stream, frame);
  }

  async cancel(stream: string, frame: CancelFrame): Promise<void> {
    this.#call('cancel', stream, frame);
  }

  async status(id: string): Promise<StreamStatus> {
    this.#check(id);
    return {
      id,
      model: 'm',
      version: '1',
      epoch: 1,
      isOwned: true,
      ageMs: 0,
      isAttached: false,
      openedAtMs: 0,
      expiresAtMs: 0,
      acceptedInput: 0,
      outputs: 0,
      journalBytes: 0,
      exactness: undefined,
      ended: undefined,
    };
  }

  #call(name: string, stream: string, frame: InputFrame | AcknowledgeFrame | CancelFrame): void {
    this.#check(stream);
    this.calls.push([name, stream, frame]);
  }

  #check(id: string): void {
    if (!this.known.has(id)) throw new InferenceError('stream-not-found', `there is no stream ${id}`);
  }
}
