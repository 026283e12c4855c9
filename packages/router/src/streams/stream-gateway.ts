/**
 * The seam between edges and durable streams. An edge attaches a connection to a stream, passes the frames of the client
 * on, and sends the frames that it is given; what is journaled, run, sent or refused is decided behind it.
 */
import type {
  AcceptedFrame,
  AcknowledgeFrame,
  CancelFrame,
  CancelSignal,
  DrainingFrame,
  EndedFrame,
  InferenceError,
  InputFrame,
  OpenedFrame,
  OpenFrame,
} from '@millrace/protocol';
import type { ExactnessVerdict } from './exactness.ts';

/** Who speaks. */
export interface StreamCaller {
  /** For fairness and limits. */
  readonly caller: string;
  /** Who may resume the stream; empty without authentication: then the id is the credential. */
  readonly principal: string;
}

/** An output as it is journaled: encoded once, sent as often as it is resumed. */
export interface EncodedOutput {
  readonly kind: 'output';
  readonly sequence: number;
  readonly inputSequence: number;
  /** The fields of the message `Output` that hold the payload; undefined: none. */
  readonly payload: Uint8Array | undefined;
  readonly endOfOutput: boolean;
}

export type StreamLinkFrame = OpenedFrame | AcceptedFrame | EncodedOutput | DrainingFrame | EndedFrame;

/** A connection of a client, as the edge implements it. */
export interface StreamListenerOfLink {
  onFrame(frame: StreamLinkFrame): void;
  /** Called once; undefined: after `ended`, or as `finish` asked for. With an error the stream goes on without this connection, or was never opened. */
  onClosed(error: InferenceError | undefined): void;
}

export interface AttachOptions {
  /**
   * The client says which outputs it has handled, and gives the credit for more. Otherwise what its transport takes is the
   * credit for more, and a limited number of outputs is kept for a resume.
   */
  readonly isAcknowledging: boolean;
}

/** A connection of a client, as the edge uses it. Calls after `onClosed` change nothing. */
export interface AttachedLink {
  input(frame: InputFrame): void;
  acknowledge(frame: AcknowledgeFrame): void;
  cancel(frame: CancelFrame): void;
  /** The transport has taken the outputs up to this one. Without it few are given to the edge, whatever the client's credit. */
  taken(output: number): void;
  /** The client says no more on this connection: it is closed when every accepted input is answered, and the stream waits for a resume. */
  finish(): void;
  /** The connection is lost: the stream waits for a resume. */
  detach(): void;
}

/** A stream for operators, and for clients that only ask. */
export interface StreamStatus {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  readonly epoch: number;
  /** This router runs it; false: it lies in the journal and nothing else. */
  readonly isOwned: boolean;
  readonly isAttached: boolean;
  readonly openedAtMs: number;
  readonly ageMs: number;
  readonly expiresAtMs: number;
  readonly acceptedInput: number;
  readonly outputs: number;
  readonly journalBytes: number;
  /** What the probe of its model found; undefined: its model keeps no state. */
  readonly exactness: ExactnessVerdict | undefined;
  /** Undefined: it has not ended. */
  readonly ended: EndedFrame | undefined;
}

export interface StreamGateway {
  attach(open: OpenFrame, caller: StreamCaller, options: AttachOptions, listener: StreamListenerOfLink): AttachedLink;
  /**
   * An input that comes in a call of its own; resolves when it is durable. Rejects with an `InferenceError`, also when the
   * signal says that nobody waits any more; the input may be accepted nevertheless.
   */
  input(stream: string, frame: InputFrame, caller: StreamCaller, signal: CancelSignal): Promise<AcceptedFrame>;
  acknowledge(stream: string, frame: AcknowledgeFrame, caller: StreamCaller): Promise<void>;
  cancel(stream: string, frame: CancelFrame, caller: StreamCaller): Promise<void>;
  /** Rejects with `stream-not-found` for streams that the caller may not see. */
  status(stream: string, caller: StreamCaller): Promise<StreamStatus>;
}
