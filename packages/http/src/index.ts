export * from './exchange.ts';
export { type HttpLimitOptions, type HttpLimits, httpLimits, resolveHttpLimits } from './wire/config.ts';
export { type OnHandlerError, wireHandlerFrom } from './wire/seam-handler.ts';
export { type HttpServerOptions, type HttpTlsOptions, type OnUpgrade, serveHttp, serveWire } from './wire/serve.ts';
export { type AnswerBody, type ExchangeListener, WireExchange, type WireHandler } from './wire/wire-exchange.ts';
