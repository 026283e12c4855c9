/**
 * The two seams between decisions and the network. A transport makes one attempt of a call, or one connection of a stream,
 * to one server. It knows nothing of retries, resume and other servers.
 */
import type {
  AcceptedFrame,
  Datatype,
  InputFrame,
  OpenFrame,
  StreamClientFrame,
  StreamServerFrame,
  Tensor,
} from '@millrace/protocol';
import type { MillraceError } from '../errors/millrace-error.ts';

export type CallParameter = boolean | number | bigint | string;

export interface InferCall {
  readonly model: string;
  /** Empty: the one that the server chooses. */
  readonly version: string;
  readonly inputs: readonly Tensor[];
  /** Empty: all of them. */
  readonly outputs: readonly string[];
  readonly parameters: Readonly<Record<string, CallParameter>>;
}

export interface InferReply {
  readonly model: string;
  readonly version: string;
  readonly outputs: readonly Tensor[];
}

export interface TensorDescription {
  readonly name: string;
  readonly datatype: Datatype;
  /** -1: any size. */
  readonly shape: readonly number[];
}

export interface ModelDescription {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
}

export interface ModelListing {
  readonly name: string;
  readonly version: string;
  readonly state: string;
  /** Why it is in that state; empty where there is nothing to say. */
  readonly reason: string;
}

/** Of one attempt or connection. */
export interface AttemptContext {
  /** What is left of the deadline; Infinity: there is none. */
  readonly timeoutMs: number;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** An attempt under way. `result` rejects with a MillraceError; after `stop` nobody listens to it. */
export interface PendingCall<Result> {
  readonly result: Promise<Result>;
  stop(): void;
}

export interface CallTransport {
  infer(call: InferCall, context: AttemptContext): PendingCall<InferReply>;
  describeModel(model: string, version: string, context: AttemptContext): PendingCall<ModelDescription>;
  listModels(context: AttemptContext): PendingCall<readonly ModelListing[]>;
  isServerReady(context: AttemptContext): PendingCall<boolean>;
  isModelReady(model: string, version: string, context: AttemptContext): PendingCall<boolean>;
  close(): void;
}

/** Called in order; nothing follows `onClose`. */
export interface LinkListener {
  onFrame(frame: StreamServerFrame): void;
  /** An input was accepted by a request of its own, which says nothing of the connection that outputs come on. */
  onAccepted(frame: AcceptedFrame): void;
  /** Something arrived that is no frame: the connection is alive. */
  onActivity(): void;
  /** The connection is over. An error of the catalogue is what the server closed it with. */
  onClose(error: MillraceError): void;
}

/** One connection of one stream. */
export interface TransportLink {
  send(frame: StreamClientFrame): void;
  /** Asks the server for a sign of life on this connection. Undefined: `frame`, which the server answers, is sent. */
  readonly ping: ((frame: InputFrame) => void) | undefined;
  /** Leaves the connection without a word: the stream stays. `onClose` does not follow. */
  close(): void;
}

export interface LinkTransport {
  /** Connects and sends `open` first. */
  connect(open: OpenFrame, context: AttemptContext, listener: LinkListener): TransportLink;
  close(): void;
}

/** How one server is spoken to. */
export interface EndpointTransports {
  readonly url: string;
  readonly calls: CallTransport;
  readonly links: LinkTransport;
}

/** Makes the transports of a server from its URL, `http://` or `https://`. */
export type TransportFactory = (url: URL) => EndpointTransports;
