/** Encodes and decodes messages, with the errors that callers get when that fails. */
import { byteLengthOf, messageTooLarge } from './compression.ts';
import { RpcError } from './rpc-error.ts';
import type { MessageBytes, RpcMethod } from './service.ts';

export function decodeMessage(
  { name, request }: RpcMethod,
  codec: 'proto' | 'json',
  bytes: Uint8Array,
  tail?: Uint8Array | undefined,
): unknown {
  try {
    if (codec === 'proto') return request.fromProto(bytes, tail);
    if (request.fromJson !== undefined) return request.fromJson(bytes);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new RpcError('invalid_argument', `the request message cannot be read: ${why}`);
  }
  throw new RpcError('unimplemented', `${name} cannot be called with JSON; use protobuf`);
}

export function encodeMessage(
  { name, response }: RpcMethod,
  codec: 'proto' | 'json',
  message: unknown,
  bytesMax: number,
): MessageBytes {
  let bytes: MessageBytes;
  if (codec === 'proto') bytes = response.toProto(message);
  else if (response.toJson !== undefined) bytes = response.toJson(message);
  else throw new RpcError('unimplemented', `${name} cannot be answered with JSON; use protobuf`);
  if (byteLengthOf(bytes) > bytesMax) throw messageTooLarge('the answer', bytesMax);
  return bytes;
}
