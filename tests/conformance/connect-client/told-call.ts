/** One call of the suite, made with the client's own callers: does what it is told, and remembers what came of it. */
import {
  type ConnectionPool,
  type OutgoingCall,
  type PoolCall,
  type RpcAnswerListener,
  type RpcCaller,
  type RpcField,
  type RpcOutcome,
  statusCode,
  UnaryAnswer,
  withPrefix,
} from '@millrace/client/internal';
import { type CancelTiming, type ClientCompatRequest, streamTypeOf } from './client-messages.ts';

export class ToldCall {
  readonly messages: Uint8Array[] = [];
  head: readonly RpcField[] = [];
  trailers: readonly RpcField[] = [];
  outcome: Pick<RpcOutcome, 'code' | 'message' | 'details'> | undefined = undefined;
  unsentRequests = 0;
  readonly #request: ClientCompatRequest;
  readonly #cancel: CancelTiming;
  #call: OutgoingCall | undefined = undefined;
  #changed: () => void = () => {};

  constructor(request: ClientCompatRequest) {
    this.#request = request;
    this.#cancel = request.cancel?.cancelTiming ?? { case: undefined };
  }

  /** `pool` where the protocol can send more than one message. */
  async run(caller: RpcCaller, pool: ConnectionPool | undefined): Promise<void> {
    const { timeoutMs, streamType } = this.#request;
    // As the client's own calls do it: the transport is told what is left, and is stopped when nothing is.
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => this.#stop(deadlineExceeded), timeoutMs);
    if (streamType === streamTypeOf.unary || streamType === streamTypeOf.serverStream) this.#callOnce(caller);
    else if (pool === undefined) throw new Error('this protocol sends one message only');
    else await this.#callWithMany(pool);
    if (this.#cancel.case === 'beforeCloseSend') this.#stop(cancelled);
    if (this.#cancel.case === 'afterCloseSendMs') {
      const { value } = this.#cancel;
      await this.#pause(value);
      this.#stop(cancelled);
    }
    while (this.outcome === undefined) await this.#nextChange();
    clearTimeout(timer);
  }

  get #path(): string {
    return `/${this.#request.service}/${this.#request.method}`;
  }

  get #context() {
    const { timeoutMs, requestHeaders } = this.#request;
    return {
      timeoutMs: timeoutMs ?? Number.POSITIVE_INFINITY,
      headers: requestHeaders.flatMap(({ name, value }) =>
        value.map((one): [string, string] => [name.toLowerCase(), one]),
      ),
    };
  }

  #callOnce(caller: RpcCaller): void {
    const { requestMessages, streamType } = this.#request;
    const kind = streamType === streamTypeOf.unary ? 'unary' : 'stream';
    const message = withPrefix(requestMessages[0]?.value ?? new Uint8Array());
    this.#call = caller.call(this.#path, this.#context, message, kind, this.#listener());
  }

  async #callWithMany(pool: ConnectionPool): Promise<void> {
    const { requestMessages, requestDelayMs, streamType } = this.#request;
    const call: PoolCall = pool.begin(this.#path, this.#context, [], false, this.#listener());
    this.#call = call;
    for (const [index, { value }] of requestMessages.entries()) {
      await this.#pause(requestDelayMs);
      if (this.outcome !== undefined) {
        this.unsentRequests = requestMessages.length - index;
        return;
      }
      call.send(withPrefix(value), false);
      if (streamType !== streamTypeOf.fullDuplex) continue;
      while (this.messages.length <= index && this.outcome === undefined) await this.#nextChange();
    }
    if (this.#cancel.case === 'beforeCloseSend') this.#stop(cancelled);
    call.send([], true);
  }

  #listener(): RpcAnswerListener {
    const { streamType } = this.#request;
    if (streamType !== streamTypeOf.unary && streamType !== streamTypeOf.clientStream) {
      return {
        onHead: (fields) => {
          this.head = fields;
        },
        onMessage: (message) => this.#onMessage(message),
        onEnd: (outcome, trailers) => this.#onEnd(outcome, trailers),
      };
    }
    const answer = new UnaryAnswer((outcome, message) => {
      this.head = answer.head;
      if (message !== undefined) this.#onMessage(message);
      this.#onEnd(outcome, answer.trailers);
    });
    return answer;
  }

  #onMessage(message: Uint8Array): void {
    this.messages.push(message);
    if (this.#cancel.case === 'afterNumResponses' && this.messages.length === this.#cancel.value) this.#stop(cancelled);
    this.#changed();
  }

  #onEnd(outcome: RpcOutcome, trailers: readonly RpcField[]): void {
    this.outcome ??= outcome;
    this.trailers = trailers;
    this.#changed();
  }

  #stop(outcome: NonNullable<ToldCall['outcome']>): void {
    if (this.outcome !== undefined) return;
    this.outcome = outcome;
    this.#call?.stop();
    this.#changed();
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  /** The suite wants time to pass. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }
}

const cancelled = { code: statusCode.cancelled, message: 'cancelled', details: [] };
const deadlineExceeded = { code: statusCode.deadlineExceeded, message: 'the deadline has passed', details: [] };
