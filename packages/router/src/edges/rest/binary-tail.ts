import { InferenceError, quote } from '@millrace/protocol';

/** The bytes after the JSON of a request, handed out as views in the order of the inputs. */
export class BinaryTail {
  readonly #bytes: Uint8Array;
  readonly #model: string;
  /** Whether the client said where the JSON ends; otherwise all of the body was JSON. */
  readonly #isDeclared: boolean;
  #offset: number;

  /** `bytes` from `offset` on. */
  constructor(bytes: Uint8Array, offset: number, model: string, isDeclared: boolean) {
    this.#bytes = bytes;
    this.#offset = offset;
    this.#model = model;
    this.#isDeclared = isDeclared;
  }

  take(sizeBytes: number, input: string): Uint8Array {
    const left = this.#bytes.byteLength - this.#offset;
    if (sizeBytes > left) {
      const hint = this.#isDeclared ? '' : '; binary data needs the Inference-Header-Content-Length header';
      throw new InferenceError(
        'invalid-request',
        `unexpected size for input ${quote(input)}, expecting ${sizeBytes - left} additional bytes for model ${quote(this.#model)}${hint}`,
      );
    }
    const view = this.#bytes.subarray(this.#offset, this.#offset + sizeBytes);
    this.#offset += sizeBytes;
    return view;
  }

  expectEnd(): void {
    const left = this.#bytes.byteLength - this.#offset;
    if (left > 0) {
      throw new InferenceError(
        'invalid-request',
        `unexpected additional input data for model ${quote(this.#model)}: ${left} bytes follow the last input`,
      );
    }
  }
}
