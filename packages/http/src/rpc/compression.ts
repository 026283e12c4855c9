/** Message compression: negotiation, and compressing and decompressing within limits. */
import { gunzipSync, inflateSync } from 'node:zlib';
import type { Compression } from '../answer-packing.ts';
import type { RpcLimits } from './config.ts';
import { RpcError } from './rpc-error.ts';
import type { MessageBytes } from './service.ts';
import type { MessageUnpacking, UnpackOwner } from './unpacking.ts';

export const acceptedCompressions = 'gzip,deflate,identity';

/** The compression that a header names; undefined for none. Throws for one that is not supported. */
export function mustReadCompression(name: string | undefined): Compression | undefined {
  if (name === undefined || name === 'identity' || name === '') return undefined;
  if (name === 'gzip' || name === 'deflate') return name;
  throw new RpcError(
    'unimplemented',
    `unknown compression ${JSON.stringify(name)}: supported encodings are ${acceptedCompressions}`,
  );
}

/** Whether a list such as `identity,gzip;q=0.5` allows the compression. */
export function accepts(list: string | undefined, compression: Compression): boolean {
  if (list === undefined) return false;
  for (const item of list.split(',')) {
    const [name, ...parameters] = item.split(';');
    if (name?.trim() !== compression) continue;
    return !parameters.some((parameter) => /^\s*q=0(\.0*)?\s*$/.test(parameter));
  }
  return false;
}

/** When answers are compressed: if the request was, whenever the caller accepts it, or never. */
export type AnswerCompression = 'as-request' | 'when-accepted' | 'never';

/**
 * How an answer is compressed. A caller that compresses and does not say what it accepts is taken to accept the same.
 */
export function answerCompression(
  policy: AnswerCompression,
  requested: Compression | undefined,
  accepted: string | undefined,
): Compression | undefined {
  if (policy === 'never') return undefined;
  if (policy === 'when-accepted') {
    return accepts(accepted, 'gzip') ? 'gzip' : accepts(accepted, 'deflate') ? 'deflate' : undefined;
  }
  if (requested === undefined) return undefined;
  return accepted === undefined || accepts(accepted, requested) ? requested : undefined;
}

/** Whether compressing a message of this many bytes is worth it. */
export function isWorthCompressing(bytes: number, limits: RpcLimits): boolean {
  return bytes >= limits.compressBytesMin && bytes <= limits.compressBytesMax;
}

/**
 * How far a small message may expand on the event loop; at a factor of a thousand it could otherwise block all others
 * for tens of milliseconds.
 */
const syncExpansionMax = 16;
/** Any message may expand to this size synchronously. */
const syncBytesMin = 4096;

export type OnDecompressed = (error: RpcError | undefined, message: Uint8Array) => void;

/**
 * Decompresses; calls back at once or, for larger messages, later, with the message or the error. Where there is no
 * memory for it, the callback is not called.
 */
export function decompressMessage(
  bytes: Uint8Array,
  compression: Compression,
  limits: RpcLimits,
  unpacking: MessageUnpacking,
  owner: UnpackOwner,
  done: OnDecompressed,
): void {
  // An empty message may be sent as zero bytes even if it is flagged as compressed.
  if (bytes.length === 0) {
    done(undefined, bytes);
    return;
  }
  if (bytes.length > limits.decompressSyncBytesMax) {
    decompressLater(bytes, compression, limits, unpacking, owner, done);
    return;
  }
  const options = {
    maxOutputLength: Math.min(limits.receiveBytesMax, Math.max(syncBytesMin, bytes.length * syncExpansionMax)),
  };
  let message: Uint8Array;
  try {
    message = compression === 'gzip' ? gunzipSync(bytes, options) : inflateSync(bytes, options);
  } catch (error) {
    if (isOverLength(error)) decompressLater(bytes, compression, limits, unpacking, owner, done);
    else done(refusal(compression), nothing);
    return;
  }
  if (owner.holdMore(message.length)) done(undefined, message);
}

function decompressLater(
  bytes: Uint8Array,
  compression: Compression,
  limits: RpcLimits,
  unpacking: MessageUnpacking,
  owner: UnpackOwner,
  done: OnDecompressed,
): void {
  const { receiveBytesMax } = limits;
  unpacking.unpack({
    bytes,
    compression,
    bytesMax: receiveBytesMax,
    owner,
    onUnpacked: (message) => done(undefined, message),
    onTooLarge: () => done(messageTooLarge('the decompressed message', receiveBytesMax), nothing),
    onInvalid: () => done(refusal(compression), nothing),
  });
}

const nothing = new Uint8Array(0);

function isOverLength(error: unknown): boolean {
  return error instanceof RangeError && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
}

function refusal(compression: Compression): RpcError {
  return new RpcError('invalid_argument', `the message is not valid ${compression} data`);
}

export function messageTooLarge(what: string, bytesMax: number): RpcError {
  return new RpcError('resource_exhausted', `${what} is larger than the maximum of ${bytesMax} bytes`);
}

export function byteLengthOf(message: MessageBytes): number {
  if (message instanceof Uint8Array) return message.length;
  let bytes = 0;
  for (const piece of message) bytes += piece.length;
  return bytes;
}

export function piecesOf(message: MessageBytes): readonly Uint8Array[] {
  return message instanceof Uint8Array ? [message] : message;
}
