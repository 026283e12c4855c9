/**
 * The frames of durable streams: everything a client and a server say to each other about one stream, on every
 * transport. proto/millrace/v1/inference.proto states the same messages; docs/reference/streams.md explains them.
 * Sequences are 64-bit on the wire and safe integers here: the codecs refuse what is larger.
 */
import type { ErrorCode } from '../errors.ts';
import type { JsonObject } from '../json/value.ts';
import type { Tensor } from '../tensor.ts';

/** The version of the protocol that this code speaks. */
export const streamProtocolVersion = 1;

/**
 * How far the other side may go beyond the sequence that stands in the same frame. Counted from that sequence and not
 * added to what was left, so that a repeated frame and a resumed stream need no bookkeeping. Zero pauses.
 */
export interface StreamCredit {
  readonly messages: number;
  /** Of the frames' payloads, as `streamPayloadBytes` counts them: the same on every transport. */
  readonly bytes: number;
}

/** What an input or output carries; `none` for an input that only ends the inputs, an output that only ends an answer. */
export type StreamPayload =
  | { readonly kind: 'none' }
  | { readonly kind: 'tensors'; readonly tensors: readonly Tensor[] }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array };

/** One step of a generator: the token's id, and the text that is complete with it (often empty or several characters). */
export interface StreamToken {
  readonly kind: 'token';
  readonly id: number;
  readonly text: string;
}

export const openModes = ['new', 'resume', 'either'] as const;
/** `either` resumes an existing stream with the same parameters, and begins one otherwise. */
export type OpenMode = (typeof openModes)[number];

export interface OpenFrame {
  readonly kind: 'open';
  /** Absent: the server chooses one with 128 random bits. */
  readonly streamId?: string | undefined;
  readonly mode: OpenMode;
  /** `model`, `model:version` or `model@label`; may be empty for a resume. */
  readonly context: string;
  readonly parameters: JsonObject;
  /** The last output that the client has seen; 0: none. */
  readonly resumeAfter: number;
  /** Counted from `resumeAfter`; absent: the server's default. */
  readonly outputCredit?: StreamCredit | undefined;
  /** Protocol versions that the client speaks. */
  readonly protocolVersions: readonly number[];
  /** Tells the connections of this client from those of another one; absent: not told. */
  readonly clientId?: string | undefined;
  /** Counts the connections of that client: one that arrives late takes the stream from no later one. */
  readonly attempt?: number | undefined;
}

export interface InputFrame {
  readonly kind: 'input';
  /** From 1. */
  readonly sequence: number;
  readonly payload: StreamPayload;
  /** No input follows this one. */
  readonly endOfInput: boolean;
  /** When it happened where it was measured, in milliseconds since 1970. */
  readonly eventTimeMs?: number | undefined;
  /** How long after its arrival an answer is of use. */
  readonly deadlineMs?: number | undefined;
}

export interface AcknowledgeFrame {
  readonly kind: 'acknowledge';
  /** The highest output that was handled safely: it and everything before it may be forgotten. */
  readonly output: number;
  /** Counted from `output`; absent: as before. */
  readonly outputCredit?: StreamCredit | undefined;
}

export interface CancelFrame {
  readonly kind: 'cancel';
  /** For the log of the server. */
  readonly reason: string;
}

export type StreamClientFrame = OpenFrame | InputFrame | AcknowledgeFrame | CancelFrame;

export interface OpenedFrame {
  readonly kind: 'opened';
  readonly streamId: string;
  /** Rises whenever another router or process takes the stream over. */
  readonly epoch: number;
  /** The model and version that the stream is pinned to. */
  readonly model: string;
  readonly version: string;
  readonly protocolVersion: number;
  /** The highest input that is durably accepted: the client goes on with the next. */
  readonly acceptedInput: number;
  /** The sequence of the next output on this connection. */
  readonly nextOutput: number;
  /** Counted from `acceptedInput`. */
  readonly inputCredit: StreamCredit;
  /** What the client should change, for instance a stream id that is easy to guess. */
  readonly warnings: readonly string[];
}

export interface AcceptedFrame {
  readonly kind: 'accepted';
  /** The highest input that is durably accepted. */
  readonly input: number;
  /** Counted from `input`; absent: as before. */
  readonly inputCredit?: StreamCredit | undefined;
}

export interface OutputFrame {
  readonly kind: 'output';
  /** From 1. */
  readonly sequence: number;
  /** The input that it answers. */
  readonly inputSequence: number;
  readonly payload: StreamPayload | StreamToken;
  /** The last output for that input. */
  readonly endOfOutput: boolean;
}

/** This router is leaving: finish, or connect again and resume. */
export interface DrainingFrame {
  readonly kind: 'draining';
  readonly message: string;
}

export const streamOutcomes = ['done', 'failed', 'cancelled', 'expired'] as const;
export type StreamOutcome = (typeof streamOutcomes)[number];

export interface EndedFrame {
  readonly kind: 'ended';
  readonly outcome: StreamOutcome;
  /** Absent when the outcome is `done`. */
  readonly code?: ErrorCode | undefined;
  readonly message: string;
  /** How many outputs the stream had. */
  readonly outputs: number;
}

export type StreamServerFrame = OpenedFrame | AcceptedFrame | OutputFrame | DrainingFrame | EndedFrame;

/** The bytes of a payload, as credits, journals and limits count them. */
export function streamPayloadBytes(payload: StreamPayload | StreamToken): number {
  switch (payload.kind) {
    case 'none':
      return 0;
    case 'tensors':
      return payload.tensors.reduce((sum, tensor) => sum + tensor.data.length, 0);
    case 'text':
    case 'token':
      return textBytes(payload.text);
    case 'bytes':
      return payload.bytes.length;
  }
}

/** The length of a text in UTF-8, without making the bytes; a lone surrogate counts as its replacement character. */
function textBytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    bytes += unit < 0x800 ? 1 : 2;
    // A pair of surrogates has four bytes.
    if ((unit & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) index += 1;
  }
  return bytes;
}
