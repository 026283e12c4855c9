/**
 * Writes the payloads of a stream's outputs as JSON. They mostly differ in the elements of their one tensor only: what stands
 * before these is remembered, as journaled and as JSON, instead of being read and written again for every output.
 */
import {
  copyOf,
  type JsonWriter,
  type StreamPayload,
  type StreamToken,
  type Tensor,
  writeByteElements,
  writeTensorData,
} from '@millrace/protocol';
import { doAtOnce } from '../slices/slice-queue.ts';
import { isSmallExactInJson } from './exact-in-json.ts';
import { payloadCodec } from './link-frame.ts';
import { smallTensorBytesMax, tensorHeadText, writePayloadFields } from './write-frame-json.ts';

interface KnownOutput {
  /** The payload up to the elements, which are its last bytes. */
  readonly head: Uint8Array;
  readonly payloadBytes: number;
  readonly tensor: Omit<Tensor, 'data'>;
  readonly text: Uint8Array;
}

export class OutputMemo {
  /** What an event took the last time; undefined: there was none. */
  eventBytes: number | undefined = undefined;
  #known: KnownOutput | undefined;

  /** Appends the fields of an output's payload, within an object whose last field has no comma after it. */
  write(writer: JsonWriter, payload: Uint8Array): void {
    const known = this.#known;
    if (known === undefined || !isLike(payload, known) || !writeElements(writer, payload, known)) {
      this.#writeAny(writer, payload);
    }
  }

  #writeAny(writer: JsonWriter, payload: Uint8Array): void {
    const decoded = payloadCodec.decodeOutput(payload);
    writer.between(',');
    doAtOnce(writePayloadFields(writer, decoded));
    this.#known = knownOutputFrom(payload, decoded);
  }
}

/** Undefined for payloads other than one small tensor. */
function knownOutputFrom(payload: Uint8Array, decoded: StreamPayload | StreamToken): KnownOutput | undefined {
  if (decoded.kind !== 'tensors' || decoded.tensors.length !== 1) return undefined;
  const { name, datatype, shape, data } = decoded.tensors[0] as Tensor;
  const headBytes = payload.length - data.length;
  const isLast = data.byteOffset === payload.byteOffset + headBytes && data.buffer === payload.buffer;
  if (!isLast || data.length > smallTensorBytesMax) return undefined;
  const tensor = { name, datatype, shape };
  return { head: copyOf(payload, 0, headBytes), payloadBytes: payload.length, tensor, text: tensorHeadText(tensor) };
}

/** Of the same length and with the same head, it has a tensor of the same name, datatype and shape. */
function isLike(payload: Uint8Array, { head, payloadBytes }: KnownOutput): boolean {
  if (payload.length !== payloadBytes) return false;
  for (let at = 0; at < head.length; at++) if (payload[at] !== head[at]) return false;
  return true;
}

/** False, and nothing written, where JSON has no exact form of an element. */
function writeElements(writer: JsonWriter, payload: Uint8Array, { head, tensor, text }: KnownOutput): boolean {
  const { name, datatype, shape } = tensor;
  if (datatype === 'UINT8') {
    appendText(writer, text);
    writeByteElements(writer, payload, head.length, payload.length);
  } else {
    const data = new Uint8Array(payload.buffer, payload.byteOffset + head.length, payload.length - head.length);
    const whole = { name, datatype, shape, data };
    if (!isSmallExactInJson(whole)) return false;
    appendText(writer, text);
    writeTensorData(writer, whole);
  }
  writer.between('}]');
  return true;
}

/** By bytes: the text is short, and a call for it would cost more. */
function appendText({ sink }: JsonWriter, text: Uint8Array): void {
  sink.reserve(text.length);
  const { bytes, end } = sink;
  for (let at = 0; at < text.length; at++) bytes[end + at] = text[at] as number;
  sink.end = end + text.length;
}
