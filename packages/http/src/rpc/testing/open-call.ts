/** Opens calls of the echo service without a connection. */
import { createRpcHandler, type RpcHandlerOptions } from '../handler.ts';
import { type EchoHandlers, echoService } from './echo-service.ts';
import { type DoubleRequest, ExchangeDouble } from './exchange-double.ts';

export const grpc = [['content-type', 'application/grpc']] as const;

/** A gRPC call of `Unary` unless the request says otherwise; its body is yet to be sent. */
export function openCall(
  handlers: EchoHandlers,
  request: DoubleRequest = {},
  options: RpcHandlerOptions = {},
): ExchangeDouble {
  const exchange = new ExchangeDouble({ headers: grpc, ...request });
  createRpcHandler([echoService(handlers)], options)(exchange);
  return exchange;
}
