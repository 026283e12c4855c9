/**
 * Reads messages out of whole frames with the reader of `ws`, which checks them against RFC 6455: reserved bits, masks,
 * opcodes, the order of fragments, lengths, UTF-8 and close codes.
 */
import { Receiver } from 'ws';
import type { WebSocketLimits } from './config.ts';
import { closeCode } from './protocol.ts';

export interface WebSocketReaderSink {
  onMessage(data: Buffer, isBinary: boolean): void;
  onPing(data: Buffer): void;
  /** The peer's close frame; nothing is read after it. */
  onCloseFrame(code: number, reason: string): void;
}

/** Why the connection must be closed. */
export interface ReadingFault {
  readonly code: number;
  readonly reason: string;
}

const sinkKey = Symbol('sink');

interface SinkReceiver extends Receiver {
  [sinkKey]?: WebSocketReaderSink;
}

/** Codes of the errors of `ws` that do not close with 1002. */
const closeCodes: Readonly<Record<string, number>> = {
  WS_ERR_INVALID_UTF8: closeCode.invalidText,
  WS_ERR_TOO_MANY_BUFFERED_PARTS: closeCode.policy,
  WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH: closeCode.tooLarge,
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: closeCode.tooLarge,
};

export class WebSocketReader {
  readonly #receiver: SinkReceiver;
  readonly #limits: WebSocketLimits;

  constructor(sink: WebSocketReaderSink, limits: WebSocketLimits) {
    this.#limits = limits;
    this.#receiver = new Receiver({
      isServer: true,
      maxPayload: limits.messageBytesMax,
      maxFragments: limits.fragmentsMax,
    });
    this.#receiver[sinkKey] = sink;
    // Shared functions, so that an idle connection has no closures.
    this.#receiver.on('message', onMessage);
    this.#receiver.on('ping', onPing);
    this.#receiver.on('conclude', onConclude);
    this.#receiver.on('error', onError);
  }

  /** Takes a frame's head or its payload, which is unmasked in place. A fault ends the reading. */
  read(bytes: Uint8Array): ReadingFault | undefined {
    this.#receiver.write(bytes);
    const { errored } = this.#receiver;
    return errored === null ? undefined : this.#faultOf(errored);
  }

  close(): void {
    this.#receiver.destroy();
  }

  #faultOf(error: NodeJS.ErrnoException): ReadingFault {
    const code = closeCodes[error.code ?? ''] ?? closeCode.protocolError;
    const { messageBytesMax, fragmentsMax } = this.#limits;
    if (code === closeCode.tooLarge) return { code, reason: `the message is larger than ${messageBytesMax} bytes` };
    if (code === closeCode.policy) return { code, reason: `the message has more than ${fragmentsMax} fragments` };
    return { code, reason: error.message };
  }
}

function onMessage(this: SinkReceiver, data: Buffer, isBinary: boolean): void {
  this[sinkKey]?.onMessage(data, isBinary);
}

function onPing(this: SinkReceiver, data: Buffer): void {
  this[sinkKey]?.onPing(data);
}

function onConclude(this: SinkReceiver, code: number, reason: Buffer): void {
  this[sinkKey]?.onCloseFrame(code, reason.toString());
}

function onError(): void {
  // `read` has returned it.
}
