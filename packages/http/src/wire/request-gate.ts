/** Decides about a request from its head alone, before any handler is called. */
import type { WireExchange, WireHandler } from './wire-exchange.ts';

/**
 * Undefined: the request is served. Otherwise the response to send instead. It is not asked again where a connection repeats a
 * head that it let pass and that has a `StandingResponse`.
 */
export type RequestGate = (exchange: WireExchange) => WireHandler | undefined;

export function gatedHandler(handler: WireHandler, gate: RequestGate): WireHandler {
  return (exchange) => {
    const refuse = gate(exchange);
    if (refuse === undefined) handler(exchange);
    else refuse(exchange);
  };
}
