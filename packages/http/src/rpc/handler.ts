/** Serves services to every client that speaks gRPC, gRPC-Web or Connect, told apart by what they send. */
import { AnswerPacking } from '../answer-packing.ts';
import type { HeaderList } from '../exchange.ts';
import type { WireExchange, WireHandler } from '../wire/wire-exchange.ts';
import { CallMachine } from './call-machine.ts';
import type { AnswerCompression } from './compression.ts';
import { type RpcLimitOptions, resolveRpcLimits } from './config.ts';
import { ConnectGetDialect } from './connect-get-dialect.ts';
import { connectUnaryPosts, contentTypesFor, dialectOf, isGrpcType } from './content-types.ts';
import { Cors, type CorsOptions, isPreflight } from './cors.ts';
import { Deadlines } from './deadlines.ts';
import type { Dialect } from './dialect.ts';
import type { BoundMethod } from './rpc-call-state.ts';
import { RpcError } from './rpc-error.ts';
import type { RefusedCall, RpcHost } from './rpc-host.ts';
import { type Interceptor, type RpcService, unary } from './service.ts';
import { MessageUnpacking } from './unpacking.ts';

export interface RpcHandlerOptions extends RpcLimitOptions {
  /** Run around every call, the first outermost. */
  readonly interceptors?: readonly Interceptor[];
  /** Default `as-request`. */
  readonly compression?: AnswerCompression;
  /** Left out, pages of other origins may not call. */
  readonly cors?: CorsOptions | undefined;
  /** Turns what handlers throw into what callers are told; a plain error becomes `internal` without its message. */
  readonly errorFrom?: (error: unknown) => RpcError;
  /** Hears of errors that callers are not told about. */
  readonly onError?: (error: unknown) => void;
  /**
   * Hears of calls that ended before their handler was asked: a message that cannot be read or is too large, no room, a
   * deadline that passed or a caller that left while it still sent. Called once for each, and never throws.
   */
  readonly onRefused?: (call: RefusedCall, error: RpcError) => void;
  /** Gets everything that is not a call of these services. Left out, that is answered 404. */
  readonly next?: WireHandler;
}

export function createRpcHandler(services: readonly RpcService[], options: RpcHandlerOptions = {}): WireHandler {
  const methods = methodsOf(services);
  const cors = options.cors === undefined ? undefined : new Cors(options.cors);
  const limits = resolveRpcLimits(options);
  const host: RpcHost = {
    limits,
    unpacking: new MessageUnpacking(limits.unpackingsMax),
    packing: new AnswerPacking({ ...limits, syncBytesMax: limits.compressSyncBytesMax }),
    deadlines: new Deadlines(),
    interceptors: options.interceptors ?? [],
    compression: options.compression ?? 'as-request',
    cors,
    onRefused: options.onRefused ?? (() => {}),
    errorFrom: options.errorFrom ?? ((error) => rpcErrorFrom(error, options.onError ?? warn)),
  };
  const next = options.next ?? ((exchange: WireExchange) => answerPlain(exchange, 404, []));

  return (exchange) => {
    const method = methods.get(exchange.path);
    if (exchange.method === 'POST') {
      const contentType = exchange.headers.get('content-type') ?? '';
      const dialect = dialectOf(contentType);
      if (dialect !== undefined) {
        if (method === undefined && dialect.protocol === 'connect') next(exchange);
        else if (method === undefined) refuseMethod(exchange, host, dialect);
        else if (dialect.protocol === 'connect' && method.definition.kind === 'unary') refuseType(exchange, method);
        else new CallMachine(exchange, host, method, dialect).open();
        return;
      }
      if (method !== undefined) {
        const unaryDialect = method.definition.kind === 'unary' ? connectUnaryPosts(contentType) : undefined;
        if (unaryDialect !== undefined) new CallMachine(exchange, host, method, unaryDialect).open();
        else refuseType(exchange, method);
        return;
      }
      // Nothing but a gRPC server could answer this, so nothing else is asked.
      if (isGrpcType(contentType)) {
        answerPlain(exchange, 415, []);
        return;
      }
    } else if (method !== undefined) {
      serveOther(exchange, host, method);
      return;
    }
    next(exchange);
  };
}

/** A request for a known method that is no POST. */
function serveOther(exchange: WireExchange, host: RpcHost, method: BoundMethod): void {
  const { cors } = host;
  if (cors !== undefined && isPreflight(exchange.method, exchange.headers)) {
    exchange.answer(204, cors.preflightFields(exchange.headers), undefined, undefined, undefined);
    return;
  }
  const isReadable = method.definition.isIdempotent;
  if (exchange.method !== 'GET' || !isReadable) {
    answerPlain(exchange, 405, [['allow', isReadable ? 'GET, POST' : 'POST']]);
    return;
  }
  const query = new URLSearchParams(exchange.query);
  const encoding = query.get('encoding');
  if (encoding === 'proto' || encoding === 'json') {
    new CallMachine(exchange, host, method, new ConnectGetDialect(encoding, query)).open();
  } else answerPlain(exchange, 415, []);
}

function methodsOf(services: readonly RpcService[]): ReadonlyMap<string, BoundMethod> {
  const methods = new Map<string, BoundMethod>();
  for (const service of services) {
    for (const definition of service.methods) {
      const path = `/${service.name}/${definition.name}`;
      if (methods.has(path)) throw new TypeError(`the method ${path} is given twice`);
      methods.set(path, { service: service.name, definition });
    }
  }
  return methods;
}

/** Callers of a method that does not exist hear of it in their own protocol. */
function refuseMethod(exchange: WireExchange, host: RpcHost, dialect: Dialect): void {
  const [, service = '', name = ''] = exchange.path.split('/', 3);
  const call = new CallMachine(exchange, host, { service, definition: { ...noMethod, name } }, dialect);
  call.fail(new RpcError('unimplemented', `there is no method ${exchange.path} here`));
}

const noMethod = unary<unknown, unknown>({
  name: '',
  request: { fromProto: (bytes) => bytes },
  response: { toProto: () => [] },
  handle: () => undefined,
});

function refuseType(exchange: WireExchange, method: BoundMethod): void {
  answerPlain(exchange, 415, [['accept-post', contentTypesFor(method.definition.kind)]]);
}

function answerPlain(exchange: WireExchange, status: number, headers: HeaderList): void {
  exchange.answer(status, headers, undefined, undefined, undefined);
}

function rpcErrorFrom(error: unknown, onError: (error: unknown) => void): RpcError {
  if (error instanceof RpcError) return error;
  onError(error);
  return new RpcError('internal', 'the server failed on this call');
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error), { code: 'MILLRACE_RPC_HANDLER' });
}
