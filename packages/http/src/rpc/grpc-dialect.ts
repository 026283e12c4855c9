/** gRPC over HTTP/2: enveloped messages, the status in trailers. */
import type { HeaderFields, HeaderList } from '../exchange.ts';
import { answerHead } from './answer-head.ts';
import type { CallMachine } from './call-machine.ts';
import { acceptedCompressions, byteLengthOf } from './compression.ts';
import type { Dialect } from './dialect.ts';
import { EnvelopeReader, envelopeFlag, envelopePrefix, joinedEnvelope } from './envelope.ts';
import { grpcStatusFields } from './grpc-status.ts';
import type { RpcError } from './rpc-error.ts';
import type { MessageBytes } from './service.ts';
import { grpcTimeoutMs } from './timeout.ts';

export class GrpcDialect implements Dialect {
  readonly protocol: 'grpc' | 'grpc-web' = 'grpc';
  readonly codec: 'proto' | 'json';
  readonly acceptField = 'grpc-accept-encoding';
  readonly #head: HeaderList;

  constructor(contentType: string, codec: 'proto' | 'json') {
    this.codec = codec;
    this.#head = [['content-type', contentType]];
  }

  compressionNameFrom(headers: HeaderFields): string | undefined {
    return headers.get('grpc-encoding');
  }

  timeoutMsFrom(headers: HeaderFields): number | undefined {
    return grpcTimeoutMs(headers.get('grpc-timeout'));
  }

  headProblem(): undefined {
    return undefined;
  }

  read(call: CallMachine): void {
    call.reader = new EnvelopeReader(call, call.receiveBytesMax, call.exchange.memory, call.lender, call.place);
    call.exchange.resume();
  }

  answer(call: CallMachine, message: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): void {
    const trailers = grpcStatusFields(undefined, call.trailingFields);
    call.exchange.answer(200, this.headOf(call), enveloped(message, isCompressed), trailers, release);
  }

  start(call: CallMachine): void {
    call.exchange.start(200, this.headOf(call));
  }

  send(call: CallMachine, message: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): boolean {
    return writeEnveloped(call, message, isCompressed, release);
  }

  end(call: CallMachine, error: RpcError | undefined): void {
    const status = grpcStatusFields(error, call.trailingFields);
    if (call.isStarted) call.exchange.end(status);
    // Without anything sent before it the status may stand in the head; metadata for the head keeps its own.
    else if (call.leadingFields.length === 0) {
      call.exchange.answer(
        200,
        [...this.headOf(call), ...refusalFields(error), ...status],
        undefined,
        undefined,
        undefined,
      );
    } else call.exchange.answer(200, this.headOf(call), undefined, status, undefined);
  }

  protected headOf(call: CallMachine): HeaderList {
    const { compression } = call;
    return answerHead(call, compression === undefined ? this.#head : [...this.#head, ['grpc-encoding', compression]]);
  }
}

/** A caller that used an unknown compression is told which ones are supported. */
function refusalFields(error: RpcError | undefined): HeaderList {
  return error?.code === 'unimplemented' ? [['grpc-accept-encoding', acceptedCompressions]] : [];
}

export function enveloped(message: MessageBytes, isCompressed: boolean): readonly Uint8Array[] {
  const prefix = envelopePrefix(isCompressed ? envelopeFlag.compressed : 0, byteLengthOf(message));
  return message instanceof Uint8Array ? [prefix, message] : [prefix, ...message];
}

/** A message of a stream up to this size is copied behind its prefix: that costs less than to send pieces of it. */
const joinedBytesMax = 1024;

export function writeEnveloped(
  call: CallMachine,
  message: MessageBytes,
  isCompressed: boolean,
  release: (() => void) | undefined,
): boolean {
  const bytes = byteLengthOf(message);
  if (bytes > joinedBytesMax) return writeAll(call, enveloped(message, isCompressed), release);
  const joined = joinedEnvelope(isCompressed ? envelopeFlag.compressed : 0, bytes, message);
  return call.exchange.write(joined, release);
}

/** Writes pieces in order; `release` goes with the last. */
export function writeAll(call: CallMachine, pieces: readonly Uint8Array[], release: (() => void) | undefined): boolean {
  let hasRoom = true;
  const last = pieces.length - 1;
  for (let at = 0; at <= last; at++) {
    hasRoom = call.exchange.write(pieces[at] as Uint8Array, at === last ? release : undefined);
  }
  return hasRoom;
}
