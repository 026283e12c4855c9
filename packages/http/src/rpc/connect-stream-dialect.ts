/** Connect's streaming calls: enveloped messages, and the end of the call as a last message in JSON. */
import type { HeaderFields, HeaderList } from '../exchange.ts';
import { answerHead } from './answer-head.ts';
import type { CallMachine } from './call-machine.ts';
import { connectEndFrom } from './connect-error.ts';
import { connectHeadProblem } from './connect-head.ts';
import type { Dialect } from './dialect.ts';
import { EnvelopeReader, envelopeFlag, envelopePrefix } from './envelope.ts';
import { enveloped, writeAll, writeEnveloped } from './grpc-dialect.ts';
import type { RpcError } from './rpc-error.ts';
import type { MessageBytes } from './service.ts';
import { connectTimeoutMs } from './timeout.ts';

export class ConnectStreamDialect implements Dialect {
  readonly protocol = 'connect';
  readonly codec: 'proto' | 'json';
  readonly acceptField = 'connect-accept-encoding';
  readonly #head: HeaderList;

  constructor(contentType: string, codec: 'proto' | 'json') {
    this.codec = codec;
    this.#head = [['content-type', contentType]];
  }

  compressionNameFrom(headers: HeaderFields): string | undefined {
    return headers.get('connect-content-encoding');
  }

  timeoutMsFrom(headers: HeaderFields): number | undefined {
    return connectTimeoutMs(headers.get('connect-timeout-ms'));
  }

  headProblem(headers: HeaderFields): RpcError | undefined {
    return connectHeadProblem(headers);
  }

  read(call: CallMachine): void {
    call.reader = new EnvelopeReader(call, call.receiveBytesMax, call.exchange.memory);
    call.exchange.resume();
  }

  answer(call: CallMachine, message: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): void {
    const pieces = [...enveloped(message, isCompressed), ...endEnvelope(call, undefined)];
    call.exchange.answer(200, this.#headOf(call), pieces, undefined, release);
  }

  start(call: CallMachine): void {
    call.exchange.start(200, this.#headOf(call));
  }

  send(call: CallMachine, message: MessageBytes, isCompressed: boolean, release: (() => void) | undefined): boolean {
    return writeEnveloped(call, message, isCompressed, release);
  }

  end(call: CallMachine, error: RpcError | undefined): void {
    const pieces = endEnvelope(call, error);
    if (!call.isStarted) call.exchange.answer(200, this.#headOf(call), pieces, undefined, undefined);
    else {
      writeAll(call, pieces, undefined);
      call.exchange.end();
    }
  }

  #headOf(call: CallMachine): HeaderList {
    const { compression } = call;
    const own: HeaderList =
      compression === undefined ? this.#head : [...this.#head, ['connect-content-encoding', compression]];
    return answerHead(call, own);
  }
}

function endEnvelope(call: CallMachine, error: RpcError | undefined): readonly Uint8Array[] {
  const bytes = connectEndFrom(error, call.trailingFields);
  return [envelopePrefix(envelopeFlag.connectEnd, bytes.length), bytes];
}
