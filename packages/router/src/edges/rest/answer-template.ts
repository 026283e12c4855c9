/** The last answer to a repeated request: the next one mostly differs only in its data. */
import type { HeaderList } from '@millrace/http';
import { copyOf, type JsonWriter, type Tensor, writeTensorBetween } from '@millrace/protocol';
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

  /** `writer` is empty before and after it. */
  take(answer: InferAnswer, writer: JsonWriter): EncodedAnswer | undefined {
    return this.#template?.take(answer, writer);
  }

  /** Keeps the parts that another answer with outputs of the same shapes can reuse. */
  keep(answer: InferAnswer, form: AnswerForm, encoded: EncodedAnswer): void {
    const { id, outputs } = answer;
    if (id !== '' || outputs.some(({ name }) => formOf(form, name).classes > 0)) return;
    if (outputs.every(({ name }) => formOf(form, name).isBinary)) this.#template = new BinaryTemplate(answer, encoded);
    else if (outputs.length === 1 && isOfNumbers(outputs[0] as Tensor))
      this.#template = new JsonTemplate(answer, encoded);
  }
}

/** Text could hold brackets. Tensors without elements are rare. */
function isOfNumbers({ datatype, data }: Tensor): boolean {
  return datatype !== 'BYTES' && data.byteLength > 0;
}

abstract class AnswerTemplate {
  readonly #model: string;
  readonly #version: string;
  readonly #outputs: readonly OutputTemplate[];

  constructor({ model, version, outputs }: InferAnswer) {
    this.#model = model;
    this.#version = version;
    this.#outputs = outputs.map(({ name, datatype, shape, data }) => {
      return { name, datatype, shape: [...shape], dataBytes: data.byteLength };
    });
  }

  /** The encoded answer, if it has the same form as the template. */
  take({ id, model, version, outputs }: InferAnswer, writer: JsonWriter): EncodedAnswer | undefined {
    const known = this.#outputs;
    if (id !== '' || model !== this.#model || version !== this.#version || outputs.length !== known.length) {
      return undefined;
    }
    for (let at = 0; at < known.length; at++)
      if (!isLike(outputs[at] as Tensor, known[at] as OutputTemplate)) return undefined;
    return this.encode(outputs, writer);
  }

  protected abstract encode(outputs: readonly Tensor[], writer: JsonWriter): EncodedAnswer;
}

/** One output as JSON: only its numbers are written. */
class JsonTemplate extends AnswerTemplate {
  readonly #before: Uint8Array;
  readonly #after: Uint8Array;
  readonly #headers: HeaderList;

  constructor(answer: InferAnswer, { pieces, headers }: EncodedAnswer) {
    super(answer);
    const json = pieces[0] as Uint8Array;
    // The data is the last array that begins, and holds no other.
    const first = json.lastIndexOf(0x5b) + 1;
    this.#before = copyOf(json, 0, first);
    this.#after = copyOf(json, json.indexOf(0x5d, first));
    this.#headers = headers;
  }

  protected override encode(outputs: readonly Tensor[], writer: JsonWriter): EncodedAnswer {
    const json = writeTensorBetween(writer, this.#before, outputs[0] as Tensor, this.#after);
    const bytes = json.byteLength;
    return { pieces: [json], jsonBytes: bytes, bytes, headers: this.#headers, hasBinary: false };
  }
}

/** Binary outputs: all of the JSON is the same. */
class BinaryTemplate extends AnswerTemplate {
  readonly #json: Uint8Array;
  readonly #bytes: number;
  readonly #headers: HeaderList;

  constructor(answer: InferAnswer, { pieces, bytes, headers }: EncodedAnswer) {
    super(answer);
    this.#json = new Uint8Array(pieces[0] as Uint8Array);
    this.#bytes = bytes;
    this.#headers = headers;
  }

  protected override encode(outputs: readonly Tensor[]): EncodedAnswer {
    const pieces = [this.#json];
    for (let at = 0; at < outputs.length; at++) {
      const { data } = outputs[at] as Tensor;
      if (data.byteLength > 0) pieces.push(data);
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
