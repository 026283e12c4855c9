/** gRPC for browsers, which cannot read trailers: the status is a last message with its own flag. */
import type { HeaderFields, HeaderList } from '../exchange.ts';
import { answerHead } from './answer-head.ts';
import { Base64Reader } from './base64-reader.ts';
import type { CallMachine } from './call-machine.ts';
import type { Dialect } from './dialect.ts';
import { EnvelopeReader, envelopeFlag, envelopePrefix } from './envelope.ts';
import { enveloped, writeAll } from './grpc-dialect.ts';
import { grpcStatusFields } from './grpc-status.ts';
import type { RpcError } from './rpc-error.ts';
import type { MessageBytes } from './service.ts';
import { grpcTimeoutMs } from './timeout.ts';

/** Smaller than the server's limit: a message is base64-encoded in one go, and clients could ask for binary instead. */
export const base64BytesMax = 4 * 1024 * 1024;

export class GrpcWebDialect implements Dialect {
  readonly protocol = 'grpc-web';
  readonly codec: 'proto' | 'json';
  readonly acceptField = 'grpc-accept-encoding';
  readonly sendBytesMax: number;
  readonly #head: HeaderList;
  /** The body is base64-encoded. */
  readonly #isText: boolean;

  constructor(contentType: string, codec: 'proto' | 'json', isText: boolean) {
    this.codec = codec;
    this.#isText = isText;
    this.sendBytesMax = isText ? base64BytesMax : Number.POSITIVE_INFINITY;
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
    const reader = new EnvelopeReader(call, call.receiveBytesMax, call.exchange.memory);
    call.reader = this.#isText ? new Base64Reader(reader, (error) => call.fail(error)) : reader;
    call.exchange.resume();
  }

  answer(call: CallMachine, message: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): void {
    const pieces = [...enveloped(message, isCompressed), ...statusEnvelope(call, undefined)];
    call.exchange.answer(200, this.#headOf(call), this.#bodyOf(pieces), undefined, release);
  }

  start(call: CallMachine): void {
    call.exchange.start(200, this.#headOf(call));
  }

  send(call: CallMachine, message: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): boolean {
    return writeAll(call, this.#bodyOf(enveloped(message, isCompressed)), release);
  }

  end(call: CallMachine, error: RpcError | undefined): void {
    const pieces = this.#bodyOf(statusEnvelope(call, error));
    if (!call.isStarted) call.exchange.answer(200, this.#headOf(call), pieces, undefined, undefined);
    else {
      writeAll(call, pieces, undefined);
      call.exchange.end();
    }
  }

  #bodyOf(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
    return this.#isText ? [Buffer.from(Buffer.concat(pieces).toString('base64'), 'latin1')] : pieces;
  }

  #headOf(call: CallMachine): HeaderList {
    const { compression } = call;
    return answerHead(call, compression === undefined ? this.#head : [...this.#head, ['grpc-encoding', compression]]);
  }
}

function statusEnvelope(call: CallMachine, error: RpcError | undefined): readonly Uint8Array[] {
  let text = '';
  for (const [name, value] of grpcStatusFields(error, call.trailingFields)) text += `${name}: ${value}\r\n`;
  const bytes = Buffer.from(text, 'latin1');
  return [envelopePrefix(envelopeFlag.webTrailers, bytes.length), bytes];
}
