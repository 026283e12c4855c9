/**
 * Writes frames as protobuf by hand. The bytes of an `Output` are also what a journal stores: they are made once, and a
 * client that resumes gets the same.
 */
import type {
  EndedFrame,
  InputFrame,
  OpenedFrame,
  OutputFrame,
  StreamCredit,
  StreamPayload,
  StreamServerFrame,
  StreamToken,
  Tensor,
} from '@millrace/protocol';
import {
  delimitedFieldBytes,
  numberFieldBytes,
  ProtoWriter,
  packedFieldBytes,
  textFieldBytes,
  utf8LengthOf,
  varintBytes,
} from '../protobuf/proto-writer.ts';
import { delimitedTag, varintTag } from './field-cursor.ts';

const frameFields = { opened: 1, accepted: 2, output: 3, draining: 4, ended: 5 } as const;
const outputField = 1;
const endedField = 2;

/** A `ServerFrame` with an `Output` that is encoded already, without a copy. */
export function frameOfOutput(output: Uint8Array): readonly Uint8Array[] {
  return [headOf(frameFields.output, output.length), output];
}

export function encodeServerFrame(frame: StreamServerFrame): readonly Uint8Array[] {
  const message = encodeMessage(frame);
  return [headOf(frameFields[frame.kind], message.length), message];
}

/** A `CollectResponse`; the output is encoded already. */
export function encodeCollectResponse(output: Uint8Array | undefined, ended: EndedFrame): readonly Uint8Array[] {
  const end = encodeEnded(ended);
  const last = [headOf(endedField, end.length), end];
  return output === undefined ? last : [headOf(outputField, output.length), output, ...last];
}

function headOf(field: number, bytes: number): Uint8Array {
  const writer = new ProtoWriter(1 + varintBytes(bytes));
  writer.prefix(delimitedTag(field), bytes);
  return writer.cut();
}

function encodeMessage(frame: StreamServerFrame): Uint8Array {
  switch (frame.kind) {
    case 'opened':
      return encodeOpened(frame);
    case 'accepted': {
      const { input, inputCredit } = frame;
      const writer = new ProtoWriter(numberFieldBytes(input) + creditFieldBytes(inputCredit));
      writer.number(varintTag(1), input);
      writeCredit(writer, delimitedTag(2), inputCredit);
      return writer.cut();
    }
    case 'output':
      return encodeOutput(frame);
    case 'draining': {
      const writer = new ProtoWriter(textFieldBytes(frame.message));
      writer.text(delimitedTag(1), frame.message);
      return writer.cut();
    }
    case 'ended':
      return encodeEnded(frame);
  }
}

function encodeOpened(frame: OpenedFrame): Uint8Array {
  const { streamId, epoch, model, version, protocolVersion, acceptedInput, nextOutput, inputCredit, warnings } = frame;
  let bytes = textFieldBytes(streamId) + numberFieldBytes(epoch) + textFieldBytes(model) + textFieldBytes(version);
  bytes += numberFieldBytes(protocolVersion) + numberFieldBytes(acceptedInput) + numberFieldBytes(nextOutput);
  bytes += creditFieldBytes(inputCredit);
  for (const warning of warnings) bytes += delimitedFieldBytes(utf8LengthOf(warning));
  const writer = new ProtoWriter(bytes);
  writer.text(delimitedTag(1), streamId);
  writer.number(varintTag(2), epoch);
  writer.text(delimitedTag(3), model);
  writer.text(delimitedTag(4), version);
  writer.number(varintTag(5), protocolVersion);
  writer.number(varintTag(6), acceptedInput);
  writer.number(varintTag(7), nextOutput);
  writeCredit(writer, delimitedTag(8), inputCredit);
  for (const warning of warnings) writer.presentText(delimitedTag(9), warning);
  return writer.cut();
}

function encodeEnded(frame: EndedFrame): Uint8Array {
  const { outcome, message, outputs } = frame;
  const code: string = frame.code ?? '';
  const bytes = textFieldBytes(outcome) + textFieldBytes(code) + textFieldBytes(message) + numberFieldBytes(outputs);
  const writer = new ProtoWriter(bytes);
  writer.text(delimitedTag(1), outcome);
  writer.text(delimitedTag(2), code);
  writer.text(delimitedTag(3), message);
  writer.number(varintTag(4), outputs);
  return writer.cut();
}

/** The `Output` message alone, in one piece. */
export function encodeOutput({ sequence, inputSequence, payload, endOfOutput }: OutputFrame): Uint8Array {
  const bytes = numberFieldBytes(sequence) + numberFieldBytes(inputSequence) + payloadFieldBytes(payload);
  const writer = new ProtoWriter(bytes + (endOfOutput ? 2 : 0));
  writer.number(varintTag(1), sequence);
  writer.number(varintTag(2), inputSequence);
  writePayload(writer, 3, payload);
  if (endOfOutput) writer.presentNumber(varintTag(7), 1);
  return writer.cut();
}

/** The `Input` message alone, in one piece: for the journal, whichever form the client sent it in. */
export function encodeInput({ sequence, payload, endOfInput, eventTimeMs, deadlineMs }: InputFrame): Uint8Array {
  let bytes = numberFieldBytes(sequence) + payloadFieldBytes(payload) + (endOfInput ? 2 : 0);
  if (eventTimeMs !== undefined) bytes += 1 + varintBytes(eventTimeMs);
  if (deadlineMs !== undefined) bytes += 1 + varintBytes(deadlineMs);
  const writer = new ProtoWriter(bytes);
  writer.number(varintTag(1), sequence);
  writePayload(writer, 2, payload);
  if (endOfInput) writer.presentNumber(varintTag(5), 1);
  if (eventTimeMs !== undefined) writer.presentNumber(varintTag(6), eventTimeMs);
  if (deadlineMs !== undefined) writer.presentNumber(varintTag(7), deadlineMs);
  return writer.cut();
}

function payloadFieldBytes(payload: StreamPayload | StreamToken): number {
  switch (payload.kind) {
    case 'none':
      return 0;
    case 'tensors': {
      let bytes = 0;
      for (const tensor of payload.tensors) bytes += delimitedFieldBytes(tensorBytes(tensor));
      return bytes;
    }
    case 'text':
      return delimitedFieldBytes(utf8LengthOf(payload.text));
    case 'bytes':
      return delimitedFieldBytes(payload.bytes.length);
    case 'token':
      return delimitedFieldBytes(tokenBytes(payload));
  }
}

/** The fields of the payloads follow each other from `tensorsField` on, in both messages. */
function writePayload(writer: ProtoWriter, tensorsField: number, payload: StreamPayload | StreamToken): void {
  switch (payload.kind) {
    case 'none':
      return;
    case 'tensors':
      for (const tensor of payload.tensors) writeTensor(writer, delimitedTag(tensorsField), tensor);
      return;
    case 'text':
      writer.presentText(delimitedTag(tensorsField + 1), payload.text);
      return;
    case 'bytes':
      writer.prefix(delimitedTag(tensorsField + 2), payload.bytes.length);
      writer.copy(payload.bytes);
      return;
    case 'token':
      writer.prefix(delimitedTag(tensorsField + 3), tokenBytes(payload));
      writer.number(varintTag(1), payload.id);
      writer.text(delimitedTag(2), payload.text);
  }
}

function tokenBytes({ id, text }: StreamToken): number {
  return numberFieldBytes(id) + textFieldBytes(text);
}

function tensorBytes({ name, datatype, shape, data }: Tensor): number {
  const raw = data.length === 0 ? 0 : delimitedFieldBytes(data.length);
  return textFieldBytes(name) + textFieldBytes(datatype) + packedFieldBytes(shape) + raw;
}

function writeTensor(writer: ProtoWriter, tag: number, tensor: Tensor): void {
  const { name, datatype, shape, data } = tensor;
  writer.prefix(tag, tensorBytes(tensor));
  writer.text(delimitedTag(1), name);
  writer.text(delimitedTag(2), datatype);
  writer.packed(delimitedTag(3), shape);
  if (data.length === 0) return;
  writer.prefix(delimitedTag(4), data.length);
  writer.copy(data);
}

function creditBytes({ messages, bytes }: StreamCredit): number {
  return numberFieldBytes(messages) + numberFieldBytes(bytes);
}

function creditFieldBytes(credit: StreamCredit | undefined): number {
  return credit === undefined ? 0 : delimitedFieldBytes(creditBytes(credit));
}

function writeCredit(writer: ProtoWriter, tag: number, credit: StreamCredit | undefined): void {
  if (credit === undefined) return;
  writer.prefix(tag, creditBytes(credit));
  writer.number(varintTag(1), credit.messages);
  writer.number(varintTag(2), credit.bytes);
}
