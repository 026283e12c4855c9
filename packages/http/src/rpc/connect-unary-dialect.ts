/** Connect's unary calls: plain HTTP, the body is the message, the status is the HTTP status. */

import type { Compression } from '../answer-packing.ts';
import type { HeaderFields, HeaderList } from '../exchange.ts';
import { answerHead } from './answer-head.ts';
import type { CallMachine } from './call-machine.ts';
import { acceptedCompressions } from './compression.ts';
import { connectErrorFrom } from './connect-error.ts';
import { connectHeadProblem } from './connect-head.ts';
import type { Dialect } from './dialect.ts';
import type { RpcError } from './rpc-error.ts';
import type { MessageBytes } from './service.ts';
import { statusCodes } from './status.ts';
import { connectTimeoutMs } from './timeout.ts';
import { WholeBodyReader } from './whole-body-reader.ts';

export class ConnectUnaryDialect implements Dialect {
  readonly protocol = 'connect';
  readonly codec: 'proto' | 'json';
  readonly acceptField = 'accept-encoding';
  readonly #head: HeaderList;

  constructor(codec: 'proto' | 'json') {
    this.codec = codec;
    this.#head = [['content-type', `application/${codec}`]];
  }

  compressionNameFrom(headers: HeaderFields): string | undefined {
    return headers.get('content-encoding');
  }

  timeoutMsFrom(headers: HeaderFields): number | undefined {
    return connectTimeoutMs(headers.get('connect-timeout-ms'));
  }

  headProblem(headers: HeaderFields): RpcError | undefined {
    return connectHeadProblem(headers);
  }

  read(call: CallMachine, compression: Compression | undefined): void {
    const { exchange, receiveBytesMax, lender } = call;
    const { lengthBytes, memory } = exchange;
    const isCompressed = compression !== undefined;
    call.reader = new WholeBodyReader(call, receiveBytesMax, lengthBytes, memory, isCompressed, lender);
    exchange.resume();
  }

  answer(call: CallMachine, message: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): void {
    const { compression } = call;
    const own: HeaderList =
      isCompressed && compression !== undefined ? [...this.#head, ['content-encoding', compression]] : this.#head;
    call.exchange.answer(200, this.#headOf(call, own), message, undefined, release);
  }

  start(): never {
    throw new Error('a unary call of Connect is answered whole');
  }

  send(): never {
    throw new Error('a unary call of Connect is answered whole');
  }

  end(call: CallMachine, error: RpcError | undefined): void {
    if (error === undefined) throw new Error('a unary call of Connect ends with its message');
    const own: [string, string][] = [['content-type', 'application/json']];
    if (error.code === 'unimplemented') own.push(['accept-encoding', acceptedCompressions]);
    const body = Buffer.from(JSON.stringify(connectErrorFrom(error)));
    call.exchange.answer(statusCodes[error.code].http, this.#headOf(call, own), body, undefined, undefined);
  }

  /** Trailing metadata has no trailers of its own: it is sent in the head under a prefix. */
  #headOf(call: CallMachine, own: HeaderList): HeaderList {
    const trailing = call.trailingFields;
    if (trailing.length === 0) return answerHead(call, own);
    return answerHead(call, [...own, ...trailing.map(([name, value]) => [`trailer-${name}`, value] as const)]);
  }
}
