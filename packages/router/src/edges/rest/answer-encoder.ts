/** Answers of inferences as bytes: at once or in slices, and compressed where the caller accepts it. */
import { AnswerPacking, type Compression, type HttpRequest, MemoryRefused } from '@millrace/http';
import { type CancelSignal, JsonWriter } from '@millrace/protocol';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import type { InferAnswer } from '../../data-plane/infer.ts';
import type { AnswerForm } from '../classification/answer-form.ts';
import { isClassifying } from '../classification/classify.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import type { EncodedAnswer } from './answer-template.ts';
import type { RestConfig } from './config.ts';
import type { DecodedRestRequest } from './decode-request.ts';
import { type EncodeOptions, encodeAnswer, encodeAnswerInSlices, isLongToEncode } from './encode-response.ts';

/** Room for several slices of an answer in one piece of memory. */
const slicedWriterBytes = 256 * 1024;

export class AnswerEncoder {
  readonly #catalogue: Catalogue;
  readonly #config: RestConfig;
  readonly #slices: SliceQueue;
  readonly #packing: AnswerPacking;
  /** Shared by all answers: its text is taken before anything else runs. */
  readonly #writer = new JsonWriter();

  constructor(catalogue: Catalogue, config: RestConfig, slices: SliceQueue) {
    this.#catalogue = catalogue;
    this.#config = config;
    this.#slices = slices;
    this.#packing = new AnswerPacking({ ...config, syncBytesMax: config.zlibSyncBytesMax });
  }

  /** Whether it is to be encoded in slices. */
  isLong(answer: InferAnswer, form: AnswerForm): boolean {
    return isLongToEncode(answer, form);
  }

  encode(answer: InferAnswer, { form, template }: DecodedRestRequest): EncodedAnswer {
    const known = template?.take(answer, this.#writer);
    if (known !== undefined) return known;
    const encoded = encodeAnswer(answer, this.#optionsOf(answer, form), this.#writer);
    template?.keep(answer, form, encoded);
    return encoded;
  }

  /** Rejects with `MemoryRefused` as soon as there is no room for what is made of the answer, which counts as held. */
  encodeInSlices(
    answer: InferAnswer,
    form: AnswerForm,
    caller: string,
    { signal, memory }: Pick<HttpRequest, 'signal' | 'memory'>,
  ): Promise<EncodedAnswer> {
    const writer = new JsonWriter(slicedWriterBytes);
    let bytes = 0;
    const hold = (more: number): void => {
      bytes += more;
      if (!memory.hasRoomToAnswer(bytes)) throw new MemoryRefused();
      memory.hold(more);
    };
    return this.#slices.run(encodeAnswerInSlices(answer, this.#optionsOf(answer, form), writer, hold), caller, signal);
  }

  /** The answer compressed. */
  pack(
    { pieces, bytes }: EncodedAnswer,
    compression: Compression,
    owner: string,
    signal: CancelSignal,
  ): Uint8Array | Promise<readonly Uint8Array[]> {
    return this.#packing.isQuick(bytes)
      ? this.#packing.packNow(pieces, bytes, compression)
      : this.#packing.packLater(pieces, compression, { owner, signal });
  }

  #optionsOf({ model, version }: InferAnswer, form: AnswerForm): EncodeOptions {
    const view = isClassifying(form) ? this.#catalogue.mustFind(model, version) : undefined;
    return { form, view, limits: this.#config };
  }
}
