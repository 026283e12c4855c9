/** The last answer to a repeated request: the next one mostly differs only in its data. */
import type { HeaderList } from '@millrace/http';
import type { Tensor } from '@millrace/protocol';
import type { InferAnswer } from '../../data-plane/infer.ts';
import { type AnswerForm, formOf } from '../classification/answer-form.ts';

export interface EncodedAnswer {
  /** The JSON, then views of the binary outputs that have bytes. */
  readonly pieces: readonly Uint8Array[];
  readonly jsonBytes: number;
  readonly bytes: number;
  readonly headers: HeaderList;
  /** Whether the pieces are views of outputs, whose memory they hold. */
  readonly hasBinary: boolean;
}

interface OutputTemplate extends Omit<Tensor, 'data'> {
  readonly dataBytes: number;
}

/** Holds the template of such answers, once there is one. */
export class AnswerTemplateCache {
  #template: AnswerTemplate | undefined = undefined;

  take(answer: InferAnswer): EncodedAnswer | undefined {
    return this.#template?.take(answer);
  }

  /** Keeps the parts that another answer with outputs of the same shapes can reuse. */
  keep(answer: InferAnswer, form: AnswerForm, encoded: EncodedAnswer): void {
    if (answer.id === '' && answer.outputs.every(({ name }) => isPlainBinary(form, name))) {
      this.#template = new AnswerTemplate(answer, encoded);
    }
  }
}

function isPlainBinary(form: AnswerForm, output: string): boolean {
  const { isBinary, classes } = formOf(form, output);
  return isBinary && classes === 0;
}

class AnswerTemplate {
  readonly #model: string;
  readonly #version: string;
  readonly #outputs: readonly OutputTemplate[];
  readonly #json: Uint8Array;
  readonly #bytes: number;
  readonly #headers: HeaderList;

  constructor({ model, version, outputs }: InferAnswer, { pieces, bytes, headers }: EncodedAnswer) {
    this.#model = model;
    this.#version = version;
    this.#outputs = outputs.map(({ name, datatype, shape, data }) => {
      return { name, datatype, shape: [...shape], dataBytes: data.byteLength };
    });
    this.#json = new Uint8Array(pieces[0] as Uint8Array);
    this.#bytes = bytes;
    this.#headers = headers;
  }

  /** The encoded answer, if it has the same form as the template. */
  take({ id, model, version, outputs }: InferAnswer): EncodedAnswer | undefined {
    const known = this.#outputs;
    if (id !== '' || model !== this.#model || version !== this.#version || outputs.length !== known.length) {
      return undefined;
    }
    const pieces = [this.#json];
    for (let at = 0; at < known.length; at++) {
      const output = outputs[at] as Tensor;
      if (!isLike(output, known[at] as OutputTemplate)) return undefined;
      if (output.data.byteLength > 0) pieces.push(output.data);
    }
    return {
      pieces,
      jsonBytes: this.#json.byteLength,
      bytes: this.#bytes,
      headers: this.#headers,
      hasBinary: pieces.length > 1,
    };
  }
}

function isLike(output: Tensor, known: OutputTemplate): boolean {
  const { shape } = output;
  const isSameKind =
    output.name === known.name &&
    output.datatype === known.datatype &&
    output.data.byteLength === known.dataBytes &&
    shape.length === known.shape.length;
  if (!isSameKind) return false;
  for (let at = 0; at < shape.length; at++) if (shape[at] !== known.shape[at]) return false;
  return true;
}
