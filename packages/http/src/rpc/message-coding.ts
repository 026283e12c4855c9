/** Messages to bytes and back, with what callers are told when that fails. */
import { byteLengthOf, type Compression, compress, tooLarge } from './compression.ts';
import type { RpcLimits } from './config.ts';
import { RpcError } from './rpc-error.ts';
import type { MessageBytes, RpcMethod } from './service.ts';

export function decodeMessage({ name, request }: RpcMethod, codec: 'proto' | 'json', bytes: Uint8Array): unknown {
  try {
    if (codec === 'proto') return request.fromProto(bytes);
    if (request.fromJson !== undefined) return request.fromJson(bytes);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new RpcError('invalid_argument', `the request message cannot be read: ${why}`);
  }
  throw new RpcError('unimplemented', `${name} cannot be called with JSON; use protobuf`);
}

/** A message as it goes out. */
export interface EncodedMessage {
  readonly bytes: MessageBytes;
  /** Then nothing of the original is referred to any more. */
  readonly isCompressed: boolean;
}

export function encodeMessage(
  { name, response }: RpcMethod,
  codec: 'proto' | 'json',
  message: unknown,
  compression: Compression | undefined,
  limits: RpcLimits,
): EncodedMessage {
  let bytes: MessageBytes;
  if (codec === 'proto') bytes = response.toProto(message);
  else if (response.toJson !== undefined) bytes = response.toJson(message);
  else throw new RpcError('unimplemented', `${name} cannot be answered with JSON; use protobuf`);
  if (byteLengthOf(bytes) > limits.sendBytesMax) throw tooLarge('the answer', limits.sendBytesMax);
  const packed = compression === undefined ? undefined : compress(bytes, compression, limits);
  return packed === undefined ? { bytes, isCompressed: false } : { bytes: packed, isCompressed: true };
}
