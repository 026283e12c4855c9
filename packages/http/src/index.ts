export * from './answer.ts';
export { AnswerPacking, type Compression } from './answer-packing.ts';
export * from './exchange.ts';
export * from './inject/inject.ts';
export * from './raw-header-fields.ts';
export { type RpcLimitOptions, type RpcLimits, resolveRpcLimits, rpcLimits } from './rpc/config.ts';
export { Cors, type CorsOptions, isPreflight } from './rpc/cors.ts';
export { createRpcHandler, type RpcHandlerOptions } from './rpc/handler.ts';
export type { MetadataWriter, RequestMetadata } from './rpc/metadata.ts';
export type { RequestListener, RequestStream } from './rpc/request-stream.ts';
export * from './rpc/rpc-error.ts';
export type { RefusedCall } from './rpc/rpc-host.ts';
export * from './rpc/service.ts';
export * from './rpc/status.ts';
export { acceptsPerTurn, type DuplicateDescriptor } from './wire/acceptors.ts';
export { AddressRanges, isAddressRange, noAddresses } from './wire/address-ranges.ts';
export { BodyPool } from './wire/body-pool.ts';
export { type HttpLimitOptions, type HttpLimits, httpLimits, resolveHttpLimits } from './wire/config.ts';
export type { OwnerOf } from './wire/connection-host.ts';
export {
  ConnectionLimiter,
  type ConnectionLimiterOptions,
  type ConnectionLimits,
  type ConnectionRefusal,
  connectionRefusals,
} from './wire/connection-limiter.ts';
export { ownerOfAddress } from './wire/ip-address.ts';
export { LeanSocket } from './wire/lean-socket.ts';
export type { ConnectionMemory, MemoryHolder, MemoryLease, MemoryVerdict, ServerMemory } from './wire/memory.ts';
export { OwnerRotation } from './wire/owner-rotation.ts';
export type { RequestGate } from './wire/request-gate.ts';
export { wireHandlerFrom } from './wire/seam-handler.ts';
export {
  type HttpServerOptions,
  type HttpTlsOptions,
  type ListeningServer,
  serveHttp,
  serveWire,
} from './wire/serve.ts';
export { TurnGate } from './wire/turn-gate.ts';
export type { OnUpgrade, ProtocolUpgrade, UpgradedTransport } from './wire/upgrade.ts';
export { type AnswerBody, type ExchangeListener, WireExchange, type WireHandler } from './wire/wire-exchange.ts';
