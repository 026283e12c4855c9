/** The service that the suite calls: does what each request says, and reports what it received. */
import { create, type FileRegistry, type Message } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import {
  bidi,
  clientStream,
  type RequestStream,
  type RpcCall,
  RpcError,
  type RpcService,
  rpcCodeFrom,
  type StreamCall,
  serverStream,
  unary,
} from '@millrace/http';
import {
  conformanceCodecOf,
  conformancePackage,
  type ErrorDefinition,
  type Header,
  mustFindMessage,
  type StreamRequest,
  type UnaryDefinition,
  type UnaryRequest,
} from './messages.ts';

export function conformanceService(registry: FileRegistry): RpcService {
  return { name: `${conformancePackage}.ConformanceService`, methods: new ConformanceMethods(registry).all() };
}

class ConformanceMethods {
  readonly #registry: FileRegistry;

  constructor(registry: FileRegistry) {
    this.#registry = registry;
  }

  all() {
    const registry = this.#registry;
    const unaryMethod = (name: string, isIdempotent: boolean) =>
      unary<UnaryRequest, Message>({
        name,
        isIdempotent,
        request: conformanceCodecOf(registry, `${name}Request`),
        response: conformanceCodecOf(registry, `${name}Response`),
        handle: (request, call) => this.#unary(`${name}Response`, request.responseDefinition, [request], call),
      });
    return [
      unaryMethod('Unary', false),
      unaryMethod('IdempotentUnary', true),
      unary<Message, Message>({
        name: 'Unimplemented',
        request: conformanceCodecOf(registry, 'UnimplementedRequest'),
        response: conformanceCodecOf(registry, 'UnimplementedResponse'),
        handle: () => {
          throw new RpcError('unimplemented', 'Unimplemented is not implemented');
        },
      }),
      clientStream<UnaryRequest, Message>({
        name: 'ClientStream',
        request: conformanceCodecOf(registry, 'ClientStreamRequest'),
        response: conformanceCodecOf(registry, 'ClientStreamResponse'),
        handle: async (requests, call) => {
          const seen: UnaryRequest[] = [];
          for await (const request of requests) seen.push(request);
          return this.#unary('ClientStreamResponse', seen[0]?.responseDefinition, seen, call);
        },
      }),
      serverStream<StreamRequest, Message>({
        name: 'ServerStream',
        request: conformanceCodecOf(registry, 'ServerStreamRequest'),
        response: conformanceCodecOf(registry, 'ServerStreamResponse'),
        handle: (request, call) => this.#serverStream(request, call),
      }),
      bidi<StreamRequest, Message>({
        name: 'BidiStream',
        request: conformanceCodecOf(registry, 'BidiStreamRequest'),
        response: conformanceCodecOf(registry, 'BidiStreamResponse'),
        handle: (requests, call) => this.#bidi(requests, call),
      }),
    ];
  }

  async #unary(
    response: string,
    definition: UnaryDefinition | undefined,
    requests: readonly Message[],
    call: RpcCall,
  ): Promise<Message> {
    const info = this.#infoOf(call, requests);
    if (definition === undefined) return this.#responseWith(response, undefined, info);
    addMetadata(call, definition);
    await delay(definition.responseDelayMs);
    if (definition.response.case === 'error') throw this.#errorFrom(definition.response.value, info);
    const data = definition.response.case === 'responseData' ? definition.response.value : undefined;
    return this.#responseWith(response, data, info);
  }

  async #serverStream(request: StreamRequest, call: StreamCall<Message>): Promise<void> {
    const definition = request.responseDefinition;
    if (definition === undefined) return;
    let info: Message | undefined = this.#infoOf(call, [request]);
    addMetadata(call, definition);
    call.start();
    for (const data of definition.responseData) {
      await delay(definition.responseDelayMs);
      await sendWithRoom(call, this.#responseWith('ServerStreamResponse', data, info));
      info = undefined;
    }
    if (definition.error !== undefined) throw this.#errorFrom(definition.error, info);
  }

  async #bidi(requests: RequestStream<StreamRequest>, call: StreamCall<Message>): Promise<void> {
    let seen: StreamRequest[] = [];
    let first: StreamRequest | undefined;
    let sent = 0;
    const reply = async (data: Uint8Array): Promise<void> => {
      const info = sent === 0 ? this.#infoOf(call, seen) : first?.fullDuplex ? this.#requestsOf(seen) : undefined;
      await delay(first?.responseDefinition?.responseDelayMs ?? 0);
      await sendWithRoom(call, this.#responseWith('BidiStreamResponse', data, info));
      seen = [];
      sent += 1;
    };
    for await (const request of requests) {
      seen.push(request);
      if (first === undefined) {
        first = request;
        if (request.responseDefinition !== undefined) {
          addMetadata(call, request.responseDefinition);
          call.start();
        }
      }
      if (!first.fullDuplex) continue;
      const data = first.responseDefinition?.responseData[sent];
      // Nothing is left to say to this request.
      if (data === undefined) break;
      await reply(data);
    }
    const definition = first?.responseDefinition;
    if (definition === undefined) return;
    for (const data of definition.responseData.slice(sent)) await reply(data);
    if (definition.error !== undefined) {
      throw this.#errorFrom(definition.error, sent === 0 ? this.#infoOf(call, seen) : undefined);
    }
  }

  #infoOf(call: RpcCall, requests: readonly Message[]): Message {
    const query = [...new URLSearchParams(call.query)].map(([name, value]) => ({ name, value: [value] }));
    return this.#create('ConformancePayload.RequestInfo', {
      requestHeaders: headersFrom(call.metadata.entries()),
      ...(call.timeoutMs === undefined ? {} : { timeoutMs: BigInt(Math.round(call.timeoutMs)) }),
      requests: this.#packed(requests),
      ...(query.length === 0 ? {} : { connectGetInfo: { queryParams: query } }),
    });
  }

  #requestsOf(requests: readonly Message[]): Message {
    return this.#create('ConformancePayload.RequestInfo', { requests: this.#packed(requests) });
  }

  #packed(requests: readonly Message[]) {
    return requests.map((request) => {
      const schema = this.#registry.getMessage(request.$typeName);
      if (schema === undefined) throw new Error(`the suite has no message ${request.$typeName}`);
      return anyPack(schema, request);
    });
  }

  #responseWith(response: string, data: Uint8Array | undefined, info: Message | undefined): Message {
    return this.#create(response, {
      payload: {
        ...(data === undefined ? {} : { data }),
        ...(info === undefined ? {} : { requestInfo: info }),
      },
    });
  }

  #errorFrom(error: ErrorDefinition, info: Message | undefined): RpcError {
    const details = info === undefined ? error.details : [...error.details, ...this.#packed([info])];
    return new RpcError(
      rpcCodeFrom(error.code),
      error.message ?? '',
      details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf('/') + 1), value })),
    );
  }

  #create(name: string, init: Record<string, unknown>): Message {
    return create(mustFindMessage(this.#registry, name), init);
  }
}

function addMetadata(
  call: RpcCall,
  { responseHeaders, responseTrailers }: { responseHeaders: readonly Header[]; responseTrailers: readonly Header[] },
): void {
  for (const { name, value } of responseHeaders) for (const one of value) call.leading.add(name, one);
  for (const { name, value } of responseTrailers) for (const one of value) call.trailing.add(name, one);
}

function headersFrom(entries: Iterable<readonly [string, string]>): readonly Header[] {
  const headers = new Map<string, string[]>();
  for (const [name, value] of entries) {
    const values = headers.get(name) ?? [];
    values.push(value);
    headers.set(name, values);
  }
  return [...headers].map(([name, value]) => ({ name, value }));
}

async function sendWithRoom(call: StreamCall<Message>, message: Message): Promise<void> {
  if (!call.send(message)) await call.whenRoom();
}

function delay(ms: number): Promise<void> {
  return ms === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms));
}
