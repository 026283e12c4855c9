/**
 * Requests that repeat all of their JSON but the numbers: a program sends the same names, datatype and shape with each request.
 * The bytes before and after the numbers are compared with those of a request that was read in full, and only the numbers
 * are read. Anything that is not exactly that is left to the full reader.
 */
import { copyOf, type Tensor, takePlainSingles } from '@millrace/protocol';
import { AnswerTemplateCache } from './answer-template.ts';
import type { InferJson } from './infer-json.ts';

/** Size of the JSON around the numbers that is kept, and number of kept requests. */
export const repeatedShapeBytesMax = 1024;
export const repeatedShapesMax = 8;

const openingBracket = 0x5b;
const closingBracket = 0x5d;

interface Shape extends Omit<InferJson, 'id' | 'inputs'>, Omit<Tensor, 'data'> {
  /** Up to the bracket before the first number, and from the one behind the last. */
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  readonly count: number;
}

export class RepeatedShapes {
  readonly #shapes: Shape[] = [];
  /** The one that matched last, and the one to be replaced next. */
  #latest = 0;
  #oldest = 0;

  /** The request in `body[0, jsonBytes)`, if all but its numbers is that of a request that was kept. */
  take(body: Uint8Array, jsonBytes: number): InferJson | undefined {
    const shapes = this.#shapes;
    for (let tried = 0, at = this.#latest; tried < shapes.length; tried++, at = (at + 1) % shapes.length) {
      const shape = shapes[at] as Shape;
      const first = shape.before.length;
      const end = jsonBytes - shape.after.length;
      if (first >= end || !isAt(shape.before, body, 0) || !isAt(shape.after, body, end)) continue;
      const singles = new Float32Array(shape.count);
      if (takePlainSingles(body, first, end, singles) !== end) return undefined;
      this.#latest = at;
      return requestOf(shape, new Uint8Array(singles.buffer));
    }
    return undefined;
  }

  /** `json` was read from `body[0, jsonBytes)`. */
  keep(body: Uint8Array, jsonBytes: number, json: InferJson): void {
    const { id, inputs, parameters, outputs, form } = json;
    const input = inputs[0];
    // An id mostly comes once: kept, it would only replace a request that is repeated.
    if (id !== '' || inputs.length !== 1 || input?.tensor === undefined || input.dataAt === undefined) return;
    const { name, datatype, shape, data } = input.tensor;
    if (datatype !== 'FP32' || data.length === 0) return;
    const first = body.indexOf(openingBracket, input.dataAt) + 1;
    const last = body.indexOf(closingBracket, first);
    const nested = body.indexOf(openingBracket, first);
    if (first + jsonBytes - last > repeatedShapeBytesMax || (nested >= 0 && nested < last)) return;
    const [before, after] = [copyOf(body, 0, first), copyOf(body, last, jsonBytes)];
    const template = new AnswerTemplateCache();
    this.#add({
      ...{ before, after, count: data.length / Float32Array.BYTES_PER_ELEMENT },
      ...{ name, datatype, shape, parameters, outputs, form, template },
    });
  }

  #add(shape: Shape): void {
    if (this.#shapes.length < repeatedShapesMax) this.#latest = this.#shapes.push(shape) - 1;
    else {
      this.#shapes[this.#oldest] = shape;
      this.#latest = this.#oldest;
      this.#oldest = (this.#oldest + 1) % repeatedShapesMax;
    }
  }
}

function requestOf({ name, datatype, shape, parameters, outputs, form, template }: Shape, data: Uint8Array): InferJson {
  const inputs = [{ tensor: { name, datatype, shape, data }, dataAt: undefined }];
  return { id: '', parameters, inputs, outputs, form, template };
}

function isAt(known: Uint8Array, body: Uint8Array, start: number): boolean {
  for (let at = 0; at < known.length; at++) if (known[at] !== body[start + at]) return false;
  return true;
}
