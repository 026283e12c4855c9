import { type Datatype, type ElementArrays, elementsOf, type Tensor, takeBytesElements } from '@millrace/protocol';
import { unreadableAnswer } from '../errors/millrace-error.ts';

/** What the elements of a datatype are handed out as; elements of BYTES one by one. */
export type ElementsOf<D extends Datatype> = D extends 'BYTES' ? readonly Uint8Array[] : ElementArrays[D];

const utf8 = /* @__PURE__ */ new TextDecoder();

/** An output of a model. Its elements are a view of what arrived, where the alignment allows. */
export class OutputTensor<D extends Datatype = Datatype> {
  readonly name: string;
  readonly datatype: D;
  readonly shape: readonly number[];
  /** As on the wire: row-major, little-endian. */
  readonly bytes: Uint8Array;
  #elements: ElementsOf<D> | undefined = undefined;

  constructor(tensor: Tensor) {
    this.name = tensor.name;
    this.datatype = tensor.datatype as D;
    this.shape = tensor.shape;
    this.bytes = tensor.data;
  }

  get data(): ElementsOf<D> {
    if (this.#elements === undefined) {
      const elements = this.datatype === 'BYTES' ? takeBytesElements(this.bytes) : this.#array();
      if (elements === undefined) throw unreadableAnswer(`output ${JSON.stringify(this.name)} is malformed`);
      this.#elements = elements as ElementsOf<D>;
    }
    return this.#elements;
  }

  #array(): ElementArrays[Datatype] {
    return elementsOf({ datatype: this.datatype as Datatype, data: this.bytes });
  }

  /** The elements of BYTES as text. */
  get texts(): D extends 'BYTES' ? readonly string[] : never {
    if (this.datatype !== 'BYTES') {
      throw new TypeError(`output ${JSON.stringify(this.name)} is ${this.datatype}; only BYTES have texts`);
    }
    const texts = (this.data as readonly Uint8Array[]).map((element) => utf8.decode(element));
    return texts as unknown as D extends 'BYTES' ? readonly string[] : never;
  }
}
