/** The one answer of a unary call to a generator, made of the answers that it gives token by token. */
import { encodeBytesElements, InferenceError, type Tensor, takeBytesElements } from '@millrace/protocol';
import { AnswerFlow } from './answer-flow.ts';
import type { InferAnswer } from './infer.ts';
import { Waiter } from './waiter.ts';

/** Answers on their way from a worker whose answers are collected: enough that it never waits for credit. */
const collectedAheadMax = 32;

/**
 * Waits for all answers of a request that is answered token by token, and gives them to the waiter as one. `begunAgain`: told of the
 * answers that had come before a failure, which the waiter hears of unless it returns true.
 */
export function collectingWaiter(
  waiter: Waiter,
  begunAgain: (error: InferenceError, answers: number) => boolean = () => false,
): Waiter {
  const text = new CollectedText();
  const flow = new AnswerFlow((answer) => {
    text.add(answer);
    flow.grant(1);
  });
  flow.grant(collectedAheadMax);
  const resolve = (end: InferAnswer): void => {
    end.release();
    try {
      waiter.resolve(text.answer());
    } catch (error) {
      waiter.reject(error as InferenceError);
    }
  };
  const reject = (error: InferenceError): void => {
    if (!begunAgain(error, text.answers)) waiter.reject(error);
  };
  return new Waiter(waiter.signal, resolve, reject, flow);
}

class CollectedText {
  readonly #texts: Uint8Array[] = [];
  readonly #tokens: Uint8Array[] = [];
  answers = 0;
  #last: Pick<InferAnswer, 'model' | 'version' | 'id' | 'outputs'> | undefined;

  /** Takes over the answer, and releases it. */
  add({ model, version, id, outputs, release }: InferAnswer): void {
    this.answers += 1;
    const kept = outputs.map((tensor) => ({ ...tensor, data: new Uint8Array(tensor.data) }));
    release();
    for (const { name, data } of kept) {
      if (name === 'text_output') this.#texts.push(...(takeBytesElements(data) ?? []));
      if (name === 'token') this.#tokens.push(data);
    }
    this.#last = { model, version, id, outputs: kept };
  }

  /** The whole text, all tokens, and the other outputs as the last answer has them. */
  answer(): InferAnswer {
    if (this.#last === undefined) throw new InferenceError('inference-failed', 'the generator gave no answer');
    const outputs = this.#last.outputs.map((tensor): Tensor => {
      if (tensor.name === 'text_output') return { ...tensor, data: encodeBytesElements([Buffer.concat(this.#texts)]) };
      if (tensor.name !== 'token') return tensor;
      return { ...tensor, shape: [this.#tokens.length], data: Buffer.concat(this.#tokens) };
    });
    return { ...this.#last, outputs, release: () => {} };
  }
}
