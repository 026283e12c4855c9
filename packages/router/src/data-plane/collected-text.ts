/** The one answer of a unary call to a generator, made of the answers that it gives token by token. */
import { encodeBytesElements, InferenceError, type Tensor, takeBytesElements } from '@millrace/protocol';
import type { InferAnswer } from './infer.ts';

export class CollectedText {
  readonly #texts: Uint8Array[] = [];
  readonly #tokens: Uint8Array[] = [];
  #last: Pick<InferAnswer, 'model' | 'version' | 'id' | 'outputs'> | undefined;

  /** Takes over the answer, and releases it. */
  add({ model, version, id, outputs, release }: InferAnswer): void {
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
