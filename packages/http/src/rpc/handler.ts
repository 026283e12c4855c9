/** Serves RPC services to gRPC, gRPC-Web and Connect clients, told apart by their requests. */
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
  /** When answers are compressed. Default `as-request`. */
  readonly compression?: AnswerCompression;
  /** If left out, pages of other origins may not call. */
  readonly cors?: CorsOptions | undefined;
  /**
   * Turns what handlers throw into the error that callers get; a plain error becomes `internal` without its message.
   */
  readonly errorFrom?: (error: unknown) => RpcError;
  /** Told of errors that callers do not see. */
  readonly onError?: (error: unknown) => void;
  /**
   * Told of calls that ended before their handler was called: a message that cannot be decoded or is too large, no
   * memory, a passed deadline, or a caller that disconnected while sending. Called once for each; must not throw.
   */
  readonly onRefused?: (call: RefusedCall, error: RpcError) => void;
  /** Gets every request that is not a call of these services. If left out, those are answered with 404. */
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
      // Only a gRPC server could answer this, so the fallback is not asked.
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

/** A request for a known method that is not a POST. */
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

/** Callers of an unknown method get the error in their own protocol. */
function refuseMethod(exchange: WireExchange, host: RpcHost, dialect: Dialect): void {
  const [, service = '', name = ''] = exchange.path.split('/', 3);
  const call = new CallMachine(exchange, host, { service, definition: { ...noMethod, name } }, dialect);
  call.fail(new RpcError('unimplemented', `this server has no method ${exchange.path}`));
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
