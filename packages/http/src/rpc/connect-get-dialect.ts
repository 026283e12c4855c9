/** Connect's unary calls by GET, for methods without side effects: the message is in the query. */

import type { Compression } from '../answer-packing.ts';
import type { HeaderFields } from '../exchange.ts';
import type { CallMachine } from './call-machine.ts';
import { messageTooLarge } from './compression.ts';
import { ConnectUnaryDialect } from './connect-unary-dialect.ts';
import type { MessageReader } from './envelope.ts';
import { RpcError } from './rpc-error.ts';

/** Unlike other dialects, an instance belongs to one call, because the query is part of it. */
export class ConnectGetDialect extends ConnectUnaryDialect {
  readonly #query: URLSearchParams;

  constructor(codec: 'proto' | 'json', query: URLSearchParams) {
    super(codec);
    this.#query = query;
  }

  override headProblem(headers: HeaderFields): RpcError | undefined {
    const version = this.#query.get('connect');
    if (version !== null && version !== 'v1') {
      return new RpcError('invalid_argument', `connect must be "v1", not ${JSON.stringify(version)}`);
    }
    if (!this.#query.has('message')) return new RpcError('invalid_argument', 'the query has no message');
    return super.headProblem(headers);
  }

  /** For a GET the compression is in the query, not in a header. */
  override compressionNameFrom(): string | undefined {
    return this.#query.get('compression') ?? undefined;
  }

  override read(call: CallMachine, compression: Compression | undefined): void {
    const text = this.#query.get('message') ?? '';
    const isBase64 = this.#query.get('base64') === '1';
    const message = Buffer.from(text, isBase64 ? 'base64url' : 'utf8');
    const { receiveBytesMax } = call;
    if (message.length > receiveBytesMax) {
      call.fail(messageTooLarge('the message', receiveBytesMax));
      return;
    }
    call.reader = endOnRelease(call);
    call.onMessage(message, compression !== undefined, undefined);
    if (!call.isHeld) call.onMessagesEnd();
  }
}

/** If the message is decompressed asynchronously, the end follows after it. */
function endOnRelease(call: CallMachine): MessageReader {
  return {
    push: () => {},
    end: () => {},
    hold: () => {},
    release: () => call.onMessagesEnd(),
    close: () => {},
    isMidMessage: false,
  };
}
