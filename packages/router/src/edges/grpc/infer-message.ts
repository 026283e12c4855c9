/** A ModelInferRequest, read without copying: raw tensors are views of the message. */
import { InferenceError, MalformedMessage, messageFieldsMax, ProtoCursor } from '@millrace/protocol';
import { TextMemo } from '../protobuf/text-memo.ts';
import { takeFirstRawTensor } from './place-message.ts';

export type InferParameter =
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int64' | 'uint64'; readonly value: bigint }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'none' };

export type InferParameters = ReadonlyMap<string, InferParameter>;

export interface InputMessage {
  name: string;
  datatype: string;
  shape: number[];
  parameters: InferParameters;
  /** An InferTensorContents that is not read yet. */
  contents: Uint8Array | undefined;
  /** Its data, where that was read from the contents in slices. */
  data: Uint8Array | undefined;
}

export interface OutputMessage {
  name: string;
  parameters: InferParameters;
}

export interface InferMessage {
  modelName: string;
  modelVersion: string;
  id: string;
  parameters: InferParameters;
  readonly inputs: InputMessage[];
  readonly outputs: OutputMessage[];
  readonly rawInputContents: Uint8Array[];
}

/** Limits for parts of a message that are small on the wire and large in memory. */
export interface InferMessageLimits {
  readonly inputsMax: number;
  readonly outputsMax: number;
  readonly dimensionsMax: number;
  readonly parametersMax: number;
  /** A name, an id, a datatype or the key of a parameter. */
  readonly nameBytesMax: number;
  /** The text of a parameter's value. */
  readonly parameterBytesMax: number;
}

const noParameters: InferParameters = new Map();
const delimited = (field: number): number => (field << 3) | 2;

const modelNameTag = delimited(1);
const modelVersionTag = delimited(2);
const idTag = delimited(3);
const parametersTag = delimited(4);
const inputsTag = delimited(5);
const outputsTag = delimited(6);
const rawInputContentsTag = delimited(7);
const shapeTag = 3 << 3;
const packedShapeTag = delimited(3);

const noBytes = new Uint8Array(0);

/** Contents of an input that come in several parts are joined up to here. */
export const joinedContentsBytesMax = 1024 * 1024;

/** A message that comes twice counts as one whose encodings are joined. */
class ContentParts {
  readonly #parts: Uint8Array[] = [];
  #bytes = 0;

  add(part: Uint8Array): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#bytes += part.length;
    if (this.#parts.length > 1 && this.#bytes > joinedContentsBytesMax) {
      throw new InferenceError(
        'request-too-large',
        `the contents of an input come in several parts of more than ${joinedContentsBytesMax} bytes; send them as one`,
      );
    }
  }

  joined(): Uint8Array {
    return Buffer.concat(this.#parts, this.#bytes);
  }
}

function emptyMessage(): InferMessage {
  return {
    modelName: '',
    modelVersion: '',
    id: '',
    parameters: noParameters,
    inputs: [],
    outputs: [],
    rawInputContents: [],
  };
}

export class InferMessageReader {
  readonly #limits: InferMessageLimits;
  readonly #memo = new TextMemo();
  readonly #cursor = new ProtoCursor(noBytes);

  constructor(limits: InferMessageLimits) {
    this.#limits = limits;
  }

  /** Throws an InferenceError: a `MalformedMessage`, or `request-too-large` where a limit is passed. */
  read(bytes: Uint8Array, tail?: Uint8Array): InferMessage {
    this.#cursor.reset(bytes);
    this.#cursor.fieldsLeft = messageFieldsMax;
    const message = emptyMessage();
    try {
      if (tail === undefined) this.#message(message);
      else this.#placed(message, bytes, tail);
      return message;
    } finally {
      // The last message may be large and must not be kept in memory until the next one.
      this.#cursor.reset(noBytes);
    }
  }

  /** A message whose tail begins with its first raw tensor. */
  #placed(message: InferMessage, head: Uint8Array, tail: Uint8Array): void {
    const cursor = this.#cursor;
    const tensor = takeFirstRawTensor(head, head.length + tail.length);
    if (tensor?.at !== head.length) throw new Error('a message was placed that has no raw tensor behind its head');
    cursor.end = tensor.fieldAt;
    this.#message(message);
    message.rawInputContents.push(tail.subarray(0, tensor.bytes));
    cursor.reset(tail);
    cursor.at = tensor.bytes;
    this.#message(message);
  }

  #message(message: InferMessage): void {
    const cursor = this.#cursor;
    const { inputsMax, outputsMax } = this.#limits;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      switch (tag) {
        case modelNameTag:
          message.modelName = this.#text();
          break;
        case modelVersionTag:
          message.modelVersion = this.#text();
          break;
        case idTag:
          message.id = this.#text();
          break;
        case parametersTag:
          message.parameters = this.#parameter(message.parameters);
          break;
        case inputsTag:
          this.#checkCount(message.inputs.length, inputsMax, 'inputs');
          message.inputs.push(this.#input());
          break;
        case outputsTag:
          this.#checkCount(message.outputs.length, outputsMax, 'outputs');
          message.outputs.push(this.#output());
          break;
        case rawInputContentsTag:
          this.#checkCount(message.rawInputContents.length, inputsMax, 'raw_input_contents');
          message.rawInputContents.push(cursor.readBytes());
          break;
        default:
          cursor.skip(tag);
      }
    }
  }

  #input(): InputMessage {
    const cursor = this.#cursor;
    const stop = cursor.readLength();
    const outer = cursor.end;
    cursor.end = stop;
    const input: InputMessage = {
      name: '',
      datatype: '',
      shape: [],
      parameters: noParameters,
      contents: undefined,
      data: undefined,
    };
    let parts: ContentParts | undefined;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag === delimited(1)) input.name = this.#text();
      else if (tag === delimited(2)) input.datatype = this.#text();
      else if (tag === packedShapeTag || tag === shapeTag) this.#shape(tag, input.shape);
      else if (tag === parametersTag) input.parameters = this.#parameter(input.parameters);
      else if (tag === delimited(5)) {
        const contents = cursor.readBytes();
        if (input.contents === undefined) input.contents = contents;
        else {
          if (parts === undefined) {
            parts = new ContentParts();
            parts.add(input.contents);
          }
          parts.add(contents);
        }
      } else cursor.skip(tag);
    }
    if (parts !== undefined) input.contents = parts.joined();
    cursor.end = outer;
    return input;
  }

  #output(): OutputMessage {
    const cursor = this.#cursor;
    const stop = cursor.readLength();
    const outer = cursor.end;
    cursor.end = stop;
    const output: OutputMessage = { name: '', parameters: noParameters };
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag === delimited(1)) output.name = this.#text();
      else if (tag === delimited(2)) output.parameters = this.#parameter(output.parameters);
      else cursor.skip(tag);
    }
    cursor.end = outer;
    return output;
  }

  #shape(tag: number, shape: number[]): void {
    const cursor = this.#cursor;
    const stop = tag === shapeTag ? cursor.at + 1 : cursor.readLength();
    while (cursor.at < stop) {
      this.#checkCount(shape.length, this.#limits.dimensionsMax, 'dimensions');
      shape.push(cursor.readInt64());
      if (tag === shapeTag) return;
    }
    if (cursor.at !== stop) throw new MalformedMessage('a shape is longer than its length');
  }

  /** Adds a map entry; the shared empty map is replaced by the first. */
  #parameter(parameters: InferParameters): InferParameters {
    const cursor = this.#cursor;
    const stop = cursor.readLength();
    const outer = cursor.end;
    cursor.end = stop;
    let key = '';
    let value: InferParameter = { kind: 'none' };
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag === delimited(1)) key = this.#text();
      else if (tag === delimited(2)) value = this.#parameterValue(value);
      else cursor.skip(tag);
    }
    cursor.end = outer;
    const entries =
      parameters === noParameters ? new Map<string, InferParameter>() : (parameters as Map<string, InferParameter>);
    if (!entries.has(key)) this.#checkCount(entries.size, this.#limits.parametersMax, 'parameters');
    return entries.set(key, value);
  }

  #parameterValue(before: InferParameter): InferParameter {
    const cursor = this.#cursor;
    const stop = cursor.readLength();
    const outer = cursor.end;
    cursor.end = stop;
    let value = before;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      switch (tag) {
        case 1 << 3:
          value = { kind: 'bool', value: cursor.readBool() };
          break;
        case 2 << 3:
          cursor.readVarint();
          value = { kind: 'int64', value: BigInt.asIntN(64, this.#bigint()) };
          break;
        case delimited(3):
          value = { kind: 'string', value: this.#text(this.#limits.parameterBytesMax) };
          break;
        case (4 << 3) | 1:
          value = { kind: 'double', value: cursor.readDouble() };
          break;
        case 5 << 3:
          cursor.readVarint();
          value = { kind: 'uint64', value: this.#bigint() };
          break;
        default:
          cursor.skip(tag);
      }
    }
    cursor.end = outer;
    return value;
  }

  #bigint(): bigint {
    return (BigInt(this.#cursor.high) << 32n) | BigInt(this.#cursor.low);
  }

  #text(bytesMax = this.#limits.nameBytesMax): string {
    const cursor = this.#cursor;
    const stop = cursor.readLength();
    const from = cursor.at;
    cursor.at = stop;
    if (stop - from > bytesMax) {
      throw new InferenceError(
        'request-too-large',
        `a name, an id or a parameter of the request has ${stop - from} bytes, more than the ${bytesMax} allowed; shorten it`,
      );
    }
    try {
      return this.#memo.read(cursor.bytes, from, stop);
    } catch {
      throw new MalformedMessage('a text is not UTF-8');
    }
  }

  #checkCount(count: number, countMax: number, what: string): void {
    if (count < countMax) return;
    throw new InferenceError('request-too-large', `the request has more than ${countMax} ${what}; send fewer`);
  }
}
