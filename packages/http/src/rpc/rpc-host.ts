import type { AnswerPacking } from '../answer-packing.ts';
import type { AnswerCompression } from './compression.ts';
import type { RpcLimits } from './config.ts';
import type { Cors } from './cors.ts';
import type { Deadlines } from './deadlines.ts';
import type { RpcError } from './rpc-error.ts';
import type { Interceptor } from './service.ts';
import type { MessageUnpacking } from './unpacking.ts';

/** A call that ended before its handler was called. */
export interface RefusedCall {
  readonly service: string;
  readonly method: string;
}

/** What all calls of one handler share. */
export interface RpcHost {
  readonly limits: RpcLimits;
  readonly unpacking: MessageUnpacking;
  readonly packing: AnswerPacking;
  readonly deadlines: Deadlines;
  readonly interceptors: readonly Interceptor[];
  readonly compression: AnswerCompression;
  readonly cors: Cors | undefined;
  errorFrom(error: unknown): RpcError;
  /** Told of calls that ended before their handler was called. */
  onRefused(call: RefusedCall, error: RpcError): void;
}
