/** Frames of a client as protobuf: proto/millrace/v1/inference.proto. */
import type { InputFrame, JsonValue, OpenFrame, StreamClientFrame, StreamCredit, Tensor } from '@millrace/protocol';
import { ByteWriter } from './byte-writer.ts';

const frameFields = { open: 1, input: 2, acknowledge: 3, cancel: 4 } as const;

export function encodeClientFrame(frame: StreamClientFrame): Uint8Array<ArrayBuffer> {
  const writer = new ByteWriter();
  writer.message(frameFields[frame.kind], (inner) => writeFrame(inner, frame));
  return writer.take();
}

function writeFrame(writer: ByteWriter, frame: StreamClientFrame): void {
  switch (frame.kind) {
    case 'open':
      writeOpen(writer, frame);
      break;
    case 'input':
      writeInput(writer, frame);
      break;
    case 'acknowledge':
      writer.number(1, frame.output);
      writeCredit(writer, 2, frame.outputCredit);
      break;
    case 'cancel':
      writer.text(1, frame.reason);
      break;
  }
}

function writeOpen(writer: ByteWriter, frame: OpenFrame): void {
  writer.text(1, frame.streamId ?? '');
  writer.text(2, frame.mode);
  writer.text(3, frame.context);
  if (Object.keys(frame.parameters).length > 0) writer.message(4, (inner) => writeStruct(inner, frame.parameters));
  writer.number(5, frame.resumeAfter);
  writeCredit(writer, 6, frame.outputCredit);
  writer.packed(7, frame.protocolVersions);
  writer.text(8, frame.clientId ?? '');
  writer.number(9, frame.attempt ?? 0);
}

function writeInput(writer: ByteWriter, frame: InputFrame): void {
  const { payload } = frame;
  writer.number(1, frame.sequence);
  if (payload.kind === 'tensors') {
    for (const tensor of payload.tensors) writer.message(2, (inner) => writeTensor(inner, tensor));
  } else if (payload.kind === 'text') writer.bytes(3, new TextEncoder().encode(payload.text));
  else if (payload.kind === 'bytes') writer.bytes(4, payload.bytes);
  if (frame.endOfInput) writer.presentNumber(5, 1);
  if (frame.eventTimeMs !== undefined) writer.presentNumber(6, frame.eventTimeMs);
  if (frame.deadlineMs !== undefined) writer.presentNumber(7, frame.deadlineMs);
}

function writeTensor(writer: ByteWriter, { name, datatype, shape, data }: Tensor): void {
  writer.text(1, name);
  writer.text(2, datatype);
  writer.packed(3, shape);
  if (data.length > 0) writer.bytes(4, data);
}

function writeCredit(writer: ByteWriter, field: number, credit: StreamCredit | undefined): void {
  if (credit === undefined) return;
  writer.message(field, (inner) => {
    inner.number(1, credit.messages);
    inner.number(2, credit.bytes);
  });
}

/** `google.protobuf.Struct`. */
function writeStruct(writer: ByteWriter, object: Readonly<Record<string, JsonValue>>): void {
  for (const [key, value] of Object.entries(object)) {
    writer.message(1, (entry) => {
      entry.text(1, key);
      entry.message(2, (inner) => writeValue(inner, value));
    });
  }
}

function writeValue(writer: ByteWriter, value: JsonValue): void {
  if (value === null) writer.presentNumber(1, 0);
  else if (typeof value === 'number') writer.double(2, value);
  else if (typeof value === 'string') writer.bytes(3, new TextEncoder().encode(value));
  else if (typeof value === 'boolean') writer.presentNumber(4, Number(value));
  else if (Array.isArray(value)) {
    const list = value as readonly JsonValue[];
    writer.message(6, (inner) => {
      for (const one of list) inner.message(1, (element) => writeValue(element, one));
    });
  } else writer.message(5, (inner) => writeStruct(inner, value as Readonly<Record<string, JsonValue>>));
}
