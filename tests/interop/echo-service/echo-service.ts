/** The service of echo.proto. */
import {
  bidi,
  clientStream,
  type RpcCall,
  RpcError,
  type RpcService,
  rpcCodeFrom,
  type StreamCall,
  serverStream,
  unary,
} from '@millrace/http';
import { noteCodec } from './note-codec.ts';

const codecs = { request: noteCodec, response: noteCodec };

export function noteService(): RpcService {
  let cancelledCalls = 0;

  /** Until the caller goes away or its deadline passes. */
  const hang = (call: RpcCall): undefined => {
    call.signal.onCancel(() => {
      cancelledCalls += 1;
      call.fail(new RpcError('canceled', 'nobody waits any more'));
    });
  };

  const speak = (text: string, call: RpcCall): string | undefined => {
    const [command, ...rest] = text.split(' ');
    switch (command) {
      case 'hang':
        return hang(call);
      case 'cancelled?':
        return String(cancelledCalls);
      case 'timeout?':
        return String(call.timeoutMs);
      case 'fail':
        throw new RpcError(rpcCodeFrom(Number(rest[0])), rest.slice(1).join(' '), [
          { type: 'google.protobuf.StringValue', value: Buffer.from([0x0a, 1, 0x78]) },
        ]);
      case 'metadata': {
        for (const value of call.metadata.getAll('x-text')) call.leading.add('x-text', value);
        for (const value of call.metadata.getBinary('x-bytes-bin')) call.trailing.add('x-bytes-bin', value);
        return text;
      }
      default:
        return text;
    }
  };

  const count = async (total: number, call: StreamCall<string>): Promise<void> => {
    for (let index = 0; index < total; index++) if (!call.send(String(index))) await call.whenRoom();
  };

  return {
    name: 'millrace.test.v1.Echo',
    methods: [
      unary<string, string>({ name: 'Unary', ...codecs, isIdempotent: true, handle: speak }),
      serverStream<string, string>({
        name: 'Split',
        ...codecs,
        handle: (text, call) => {
          const [command, amount] = text.split(' ');
          if (command === 'hang') {
            call.send('hanging');
            return hang(call);
          }
          if (command === 'count') return count(Number(amount), call);
          return words(text);
        },
      }),
      clientStream<string, string>({
        name: 'Join',
        ...codecs,
        handle: async (notes) => {
          const all: string[] = [];
          for await (const text of notes) all.push(text);
          return all.join(' ');
        },
      }),
      bidi<string, string>({
        name: 'Chat',
        ...codecs,
        handle: async function* (notes) {
          for await (const text of notes) {
            if (text === 'fail') throw new RpcError('failed_precondition', 'as you wish');
            yield text;
          }
        },
      }),
    ],
  };
}

async function* words(text: string): AsyncGenerator<string> {
  for (const word of text.split(' ')) {
    if (word === 'fail') throw new RpcError('out_of_range', 'no further');
    yield word;
  }
}
