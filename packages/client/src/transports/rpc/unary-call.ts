/** A call with one message in each direction. */
import { unreachable } from '../../errors/millrace-error.ts';
import type { OutgoingCall, RpcAnswerListener, RpcCaller, RpcField, RpcOutcome } from './rpc-call.ts';
import { statusCode } from './rpc-call.ts';
import { faultOutcome } from './rpc-outcome.ts';

export type OnUnaryAnswer = (outcome: RpcOutcome, message: Uint8Array | undefined) => void;

/** Calls back once, with a message exactly where the outcome is OK: a server that sends none or several is at fault. */
export class UnaryAnswer implements RpcAnswerListener {
  head: readonly RpcField[] = [];
  trailers: readonly RpcField[] = [];
  readonly #onAnswer: OnUnaryAnswer;
  #message: Uint8Array | undefined = undefined;
  #messages = 0;

  constructor(onAnswer: OnUnaryAnswer) {
    this.#onAnswer = onAnswer;
  }

  onHead(fields: readonly RpcField[]): void {
    this.head = fields;
  }

  onMessage(message: Uint8Array): void {
    this.#message = message;
    this.#messages += 1;
  }

  onEnd(outcome: RpcOutcome, trailers: readonly RpcField[]): void {
    this.trailers = trailers;
    if (outcome.code !== statusCode.ok) this.#onAnswer(outcome, undefined);
    else if (this.#messages === 1) this.#onAnswer(outcome, this.#message);
    else {
      const fault = unreachable(`the answer has ${this.#messages} messages instead of one`, true);
      this.#onAnswer(faultOutcome(statusCode.unimplemented, fault), undefined);
    }
  }
}

export function callUnary(
  caller: RpcCaller,
  path: string,
  context: Parameters<RpcCaller['call']>[1],
  message: readonly Uint8Array[],
  onAnswer: OnUnaryAnswer,
): OutgoingCall {
  return caller.call(path, context, message, 'unary', new UnaryAnswer(onAnswer));
}
