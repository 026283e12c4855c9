/** gRPC for browsers, which cannot read trailers: the status is a last message with its own flag. */
import { Base64Reader } from './base64-reader.ts';
import type { CallMachine } from './call-machine.ts';
import { EnvelopeReader, envelopeFlag, envelopePrefix } from './envelope.ts';
import { enveloped, GrpcDialect, writeAll } from './grpc-dialect.ts';
import { grpcStatusFields } from './grpc-status.ts';
import type { RpcError } from './rpc-error.ts';
import type { MessageBytes } from './service.ts';

/** Smaller than the server's limit: a message is base64-encoded in one go, and clients could ask for binary instead. */
export const base64BytesMax = 4 * 1024 * 1024;

export class GrpcWebDialect extends GrpcDialect {
  override readonly protocol = 'grpc-web';
  readonly sendBytesMax: number;
  /** The body travels as base64. */
  readonly #isText: boolean;

  constructor(contentType: string, codec: 'proto' | 'json', isText: boolean) {
    super(contentType, codec);
    this.#isText = isText;
    this.sendBytesMax = isText ? base64BytesMax : Number.POSITIVE_INFINITY;
  }

  override read(call: CallMachine): void {
    const reader = new EnvelopeReader(call, call.receiveBytesMax, call.exchange.memory, call.lender, call.place);
    call.reader = this.#isText ? new Base64Reader(reader, (error) => call.fail(error)) : reader;
    call.exchange.resume();
  }

  override answer(
    call: CallMachine,
    message: MessageBytes,
    isCompressed: boolean,
    release: (() => void) | undefined,
  ): void {
    const pieces = [...enveloped(message, isCompressed), ...statusEnvelope(call, undefined)];
    call.exchange.answer(200, this.headOf(call), this.#bodyOf(pieces), undefined, release);
  }

  override send(
    call: CallMachine,
    message: MessageBytes,
    isCompressed: boolean,
    release: (() => void) | undefined,
  ): boolean {
    return writeAll(call, this.#bodyOf(enveloped(message, isCompressed)), release);
  }

  override end(call: CallMachine, error: RpcError | undefined): void {
    const pieces = this.#bodyOf(statusEnvelope(call, error));
    if (!call.isStarted) call.exchange.answer(200, this.headOf(call), pieces, undefined, undefined);
    else {
      writeAll(call, pieces, undefined);
      call.exchange.end();
    }
  }

  #bodyOf(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
    return this.#isText ? [Buffer.from(Buffer.concat(pieces).toString('base64'), 'latin1')] : pieces;
  }
}

function statusEnvelope(call: CallMachine, error: RpcError | undefined): readonly Uint8Array[] {
  let text = '';
  for (const [name, value] of grpcStatusFields(error, call.trailingFields)) text += `${name}: ${value}\r\n`;
  const bytes = Buffer.from(text, 'latin1');
  return [envelopePrefix(envelopeFlag.webTrailers, bytes.length), bytes];
}
