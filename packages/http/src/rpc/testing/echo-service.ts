/** A service of each kind of method over plain text, for tests. */
import type { RequestCodec, ResponseCodec, RpcCall, RpcMethod, RpcService, StreamCall, UnaryCall } from '../service.ts';
import { bidi, clientStream, serverStream, unary } from '../service.ts';

export const textCodec: RequestCodec<string> & ResponseCodec<string> = {
  fromProto: (bytes) => Buffer.from(bytes).toString(),
  fromJson: (bytes) => String(JSON.parse(Buffer.from(bytes).toString())),
  toProto: (message) => Buffer.from(message),
  toJson: (message) => Buffer.from(JSON.stringify(message)),
};

export interface EchoHandlers {
  readonly unary?: (request: string, call: UnaryCall<string>) => string | Promise<string> | undefined;
  readonly serverStream?: (
    request: string,
    call: StreamCall<string>,
  ) => AsyncIterable<string> | Promise<void> | undefined;
}

export function echoService(handlers: EchoHandlers = {}): RpcService {
  const methods: RpcMethod[] = [
    unary<string, string>({
      name: 'Unary',
      isIdempotent: true,
      request: textCodec,
      response: textCodec,
      handle: handlers.unary ?? ((request) => request),
    }),
    serverStream<string, string>({
      name: 'ServerStream',
      request: textCodec,
      response: textCodec,
      handle: handlers.serverStream ?? ((request) => letters(request)),
    }),
    clientStream<string, string>({
      name: 'ClientStream',
      request: textCodec,
      response: textCodec,
      handle: async (requests) => {
        let all = '';
        for await (const request of requests) all += request;
        return all;
      },
    }),
    bidi<string, string>({
      name: 'Bidi',
      request: textCodec,
      response: textCodec,
      handle: async function* (requests) {
        for await (const request of requests) yield `${request}!`;
      },
    }),
  ];
  return { name: 'test.Echo', methods };
}

async function* letters(word: string): AsyncGenerator<string> {
  yield* word;
}

/** Keeps the call that a handler got, for tests that check it later. */
export class CallKeeper {
  call: RpcCall | undefined = undefined;

  keep = (_request: string, call: UnaryCall<string>): undefined => {
    this.call = call;
  };

  get unaryCall(): UnaryCall<string> {
    if (this.call === undefined) throw new Error('no call has been handled');
    return this.call as UnaryCall<string>;
  }
}
