import type { Compression } from '../answer-packing.ts';
import type { HeaderFields } from '../exchange.ts';
import type { CallMachine } from './call-machine.ts';
import type { RpcError } from './rpc-error.ts';
import type { MessageBytes } from './service.ts';

/** How one protocol expresses what every call needs. Dialects hold no state of calls. */
export interface Dialect {
  /** The largest message it sends, where that is less than the server's limit. */
  readonly sendBytesMax?: number;
  readonly protocol: 'grpc' | 'grpc-web' | 'connect';
  readonly codec: 'proto' | 'json';
  /** The header field that lists the compressions the caller accepts. */
  readonly acceptField: string;
  /** The compression of the caller's messages. */
  compressionNameFrom(headers: HeaderFields): string | undefined;
  /** NaN for a timeout that cannot be parsed. */
  timeoutMsFrom(headers: HeaderFields): number | undefined;
  /** What is wrong with the head of the request, if anything. */
  headProblem(headers: HeaderFields): RpcError | undefined;
  /** Delivers the request's messages to the call from now on. */
  read(call: CallMachine, compression: Compression | undefined): void;
  /** Sends a whole answer: one message and a successful end. */
  answer(call: CallMachine, message: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): void;
  start(call: CallMachine): void;
  send(call: CallMachine, message: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): boolean;
  /** Sends the end of a call, started or not. */
  end(call: CallMachine, error: RpcError | undefined): void;
}
