/**
 * Writes frames of the server as protobuf's JSON: lowerCamelCase, numbers always, other fields unless they are empty or
 * false. Tensors are written as `data`, which people can read, or as `raw` where JSON has no exact form of an element.
 */
import {
  type EndedFrame,
  JsonWriter,
  type OpenedFrame,
  type OutputFrame,
  type StreamCredit,
  type StreamPayload,
  type StreamServerFrame,
  type StreamToken,
  type Tensor,
  writeTensorData,
  writeTensorSteps,
} from '@millrace/protocol';
import { doAtOnce, type SliceGenerator } from '../slices/slice-queue.ts';
import { isExactInJson, isSmallExactInJson } from './exact-in-json.ts';

/** Most frames are short, and each has a writer of its own, because others may be written while one pauses. */
const initialBytes = 512;

/** An object with one key, the name of the frame. In slices, because an output may be large. */
export function* writeFrameJson(frame: StreamServerFrame): SliceGenerator<Uint8Array> {
  const writer = new JsonWriter(initialBytes);
  writer.beginObject();
  writer.key(frame.kind);
  yield* writeFrameFields(writer, frame);
  writer.endObject();
  return writer.take();
}

/** The frame without its name, which the name of an event says already. */
export function* writeFrameFieldsJson(frame: StreamServerFrame): SliceGenerator<Uint8Array> {
  const writer = new JsonWriter(initialBytes);
  yield* writeFrameFields(writer, frame);
  return writer.take();
}

/** A `CollectResponse`. */
export function* writeCollectJson(output: OutputFrame | undefined, ended: EndedFrame): SliceGenerator<Uint8Array> {
  const writer = new JsonWriter(initialBytes);
  writer.beginObject();
  if (output !== undefined) {
    writer.key('output');
    yield* writeFrameFields(writer, output);
  }
  writer.key('ended');
  yield* writeFrameFields(writer, ended);
  writer.endObject();
  return writer.take();
}

/** The frame without its name, behind what the writer has written before. */
export function* writeFrameFields(writer: JsonWriter, frame: StreamServerFrame): SliceGenerator<void> {
  writer.beginObject();
  switch (frame.kind) {
    case 'opened':
      writeOpened(writer, frame);
      break;
    case 'accepted':
      writeNumber(writer, 'input', frame.input);
      writeCredit(writer, 'inputCredit', frame.inputCredit);
      break;
    case 'output':
      yield* writeOutput(writer, frame);
      break;
    case 'draining':
      writeText(writer, 'message', frame.message);
      break;
    case 'ended':
      writeText(writer, 'outcome', frame.outcome);
      writeText(writer, 'code', frame.code ?? '');
      writeText(writer, 'message', frame.message);
      writeNumber(writer, 'outputs', frame.outputs);
      break;
  }
  writer.endObject();
}

function writeOpened(writer: JsonWriter, frame: OpenedFrame): void {
  writeText(writer, 'streamId', frame.streamId);
  writeNumber(writer, 'epoch', frame.epoch);
  writeText(writer, 'model', frame.model);
  writeText(writer, 'version', frame.version);
  writeNumber(writer, 'protocolVersion', frame.protocolVersion);
  writeNumber(writer, 'acceptedInput', frame.acceptedInput);
  writeNumber(writer, 'nextOutput', frame.nextOutput);
  writeCredit(writer, 'inputCredit', frame.inputCredit);
  if (frame.warnings.length === 0) return;
  writer.key('warnings');
  writer.beginArray();
  for (const warning of frame.warnings) writer.string(warning);
  writer.endArray();
}

function* writeOutput(writer: JsonWriter, frame: OutputFrame): SliceGenerator<void> {
  writeNumber(writer, 'sequence', frame.sequence);
  writeNumber(writer, 'inputSequence', frame.inputSequence);
  yield* writePayloadFields(writer, frame.payload);
  if (!frame.endOfOutput) return;
  writer.key('endOfOutput');
  writer.boolean(true);
}

/** The fields of an output's payload, within its object. */
export function* writePayloadFields(writer: JsonWriter, payload: StreamPayload | StreamToken): SliceGenerator<void> {
  switch (payload.kind) {
    case 'none':
      break;
    case 'tensors':
      writer.key('tensors');
      writer.beginArray();
      for (const tensor of payload.tensors) {
        if (tensor.data.length <= smallTensorBytesMax) writeSmallTensor(writer, tensor);
        else yield* writeTensor(writer, tensor);
      }
      writer.endArray();
      break;
    case 'text':
      writer.key('text');
      writer.string(payload.text);
      break;
    case 'bytes':
      writer.key('bytes');
      yield* writeBase64(writer, payload.bytes);
      break;
    case 'token':
      writer.key('token');
      writer.beginObject();
      writeNumber(writer, 'id', payload.id);
      writeText(writer, 'text', payload.text);
      writer.endObject();
      break;
  }
}

/** Written without pauses: the generators of one that pauses cost more than to write a short tensor. */
export const smallTensorBytesMax = 2048;

function writeSmallTensor(writer: JsonWriter, tensor: Tensor): void {
  const isExact = isSmallExactInJson(tensor);
  beginTensor(writer, tensor);
  if (isExact) {
    writer.key('data');
    writeTensorData(writer, tensor);
  } else {
    writer.key('raw');
    doAtOnce(writeBase64(writer, tensor.data));
  }
  writer.endObject();
}

function* writeTensor(writer: JsonWriter, tensor: Tensor): SliceGenerator<void> {
  const isExact = yield* isExactInJson(tensor);
  beginTensor(writer, tensor);
  if (isExact) {
    writer.key('data');
    yield* writeTensorSteps(writer, tensor);
  } else {
    writer.key('raw');
    yield* writeBase64(writer, tensor.data);
  }
  writer.endObject();
}

/** What stands between another field of an output and the elements of its one tensor. */
export function tensorHeadText(tensor: Omit<Tensor, 'data'>): Uint8Array {
  const writer = new JsonWriter(initialBytes);
  writer.between(',');
  writer.key('tensors');
  writer.beginArray();
  beginTensor(writer, tensor);
  writer.key('data');
  return writer.take();
}

function beginTensor(writer: JsonWriter, { name, datatype, shape }: Omit<Tensor, 'data'>): void {
  writer.beginObject();
  writeText(writer, 'name', name);
  writeText(writer, 'datatype', datatype);
  if (shape.length === 0) return;
  writer.key('shape');
  writer.beginArray();
  for (const dimension of shape) writer.number(dimension);
  writer.endArray();
}

/** Whole groups of three, so that only the last is padded. */
const base64StepBytes = 3 * 64 * 1024;

function* writeBase64(writer: JsonWriter, data: Uint8Array): SliceGenerator<void> {
  writer.beginValue();
  const { sink } = writer;
  sink.reserve(Math.ceil(data.length / 3) * 4 + 2);
  sink.bytes[sink.end++] = 0x22;
  for (let from = 0; from < data.length; from += base64StepBytes) {
    if (from > 0) yield;
    const part = data.subarray(from, from + base64StepBytes);
    const text = Buffer.from(part.buffer, part.byteOffset, part.length).toString('base64');
    sink.end += Buffer.from(sink.bytes.buffer, sink.bytes.byteOffset).write(text, sink.end, 'latin1');
  }
  sink.bytes[sink.end++] = 0x22;
  writer.endValue();
}

function writeNumber(writer: JsonWriter, key: string, value: number): void {
  writer.key(key);
  writer.number(value);
}

function writeText(writer: JsonWriter, key: string, value: string): void {
  if (value === '') return;
  writer.key(key);
  writer.string(value);
}

function writeCredit(writer: JsonWriter, key: string, credit: StreamCredit | undefined): void {
  if (credit === undefined) return;
  writer.key(key);
  writer.beginObject();
  writeNumber(writer, 'messages', credit.messages);
  writeNumber(writer, 'bytes', credit.bytes);
  writer.endObject();
}
