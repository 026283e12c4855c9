/** For tests of this repository: calls of any method, below what the client offers to programs. */
export { ConnectionPool, type PoolCall } from './transports/grpc/connection-pool.ts';
export * from './transports/rpc/rpc-call.ts';
export { UnaryAnswer } from './transports/rpc/unary-call.ts';
export { ConnectCaller } from './transports/web-rpc/connect-caller.ts';
export { GrpcWebCaller } from './transports/web-rpc/grpc-web-caller.ts';
