/** Frames of a server from protobuf. Tensors and bytes are views of the message. */
import {
  type Datatype,
  isDatatype,
  ProtoCursor,
  type StreamCredit,
  type StreamOutcome,
  type StreamPayload,
  type StreamServerFrame,
  type StreamToken,
  streamOutcomes,
  type Tensor,
} from '@millrace/protocol';
import { isErrorCode, unreadableAnswer } from '../errors/millrace-error.ts';

const decoder = /* @__PURE__ */ new TextDecoder();

/** Undefined: a frame that this version does not know, and passes over. */
export function decodeServerFrame(bytes: Uint8Array): StreamServerFrame | undefined {
  const cursor = new ProtoCursor(bytes);
  let frame: StreamServerFrame | undefined;
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if ((tag & 7) === 2 && tag >>> 3 <= 5) frame = inside(cursor, () => frameOf(cursor, tag >>> 3));
    else cursor.skip(tag);
  }
  return frame;
}

function frameOf(cursor: ProtoCursor, field: number): StreamServerFrame | undefined {
  switch (field) {
    case 1:
      return readOpened(cursor);
    case 2:
      return readAccepted(cursor);
    case 3:
      return readOutput(cursor);
    case 4: {
      let message = '';
      fields(cursor, (number) => {
        if (number === 1) message = text(cursor);
        else return false;
      });
      return { kind: 'draining', message };
    }
    case 5:
      return readEnded(cursor);
    default:
      return undefined;
  }
}

function readOpened(cursor: ProtoCursor): StreamServerFrame {
  let [streamId, model, version] = ['', '', ''];
  let [epoch, protocolVersion, acceptedInput, nextOutput] = [0, 0, 0, 0];
  let inputCredit: StreamCredit = { messages: 0, bytes: 0 };
  const warnings: string[] = [];
  fields(cursor, (number) => {
    if (number === 1) streamId = text(cursor);
    else if (number === 2) epoch = cursor.readUint64();
    else if (number === 3) model = text(cursor);
    else if (number === 4) version = text(cursor);
    else if (number === 5) protocolVersion = cursor.readUint64();
    else if (number === 6) acceptedInput = cursor.readUint64();
    else if (number === 7) nextOutput = cursor.readUint64();
    else if (number === 8) inputCredit = readCredit(cursor);
    else if (number === 9) warnings.push(text(cursor));
    else return false;
  });
  const numbers = { epoch, protocolVersion, acceptedInput, nextOutput };
  return { kind: 'opened', streamId, model, version, ...numbers, inputCredit, warnings };
}

function readAccepted(cursor: ProtoCursor): StreamServerFrame {
  let input = 0;
  let inputCredit: StreamCredit | undefined;
  fields(cursor, (number) => {
    if (number === 1) input = cursor.readUint64();
    else if (number === 2) inputCredit = readCredit(cursor);
    else return false;
  });
  return { kind: 'accepted', input, inputCredit };
}

function readOutput(cursor: ProtoCursor): StreamServerFrame {
  let [sequence, inputSequence] = [0, 0];
  let endOfOutput = false;
  let payload: StreamPayload | StreamToken = { kind: 'none' };
  const tensors: Tensor[] = [];
  fields(cursor, (number) => {
    if (number === 1) sequence = cursor.readUint64();
    else if (number === 2) inputSequence = cursor.readUint64();
    else if (number === 3) tensors.push(readTensor(cursor));
    else if (number === 4) payload = { kind: 'text', text: text(cursor) };
    else if (number === 5) payload = { kind: 'bytes', bytes: cursor.readBytes() };
    else if (number === 6) payload = readToken(cursor);
    else if (number === 7) endOfOutput = cursor.readBool();
    else return false;
  });
  if (tensors.length > 0) payload = { kind: 'tensors', tensors };
  return { kind: 'output', sequence, inputSequence, payload, endOfOutput };
}

function readToken(cursor: ProtoCursor): StreamToken {
  let id = 0;
  let piece = '';
  inside(cursor, () =>
    fields(cursor, (number) => {
      if (number === 1) id = cursor.readUint64();
      else if (number === 2) piece = text(cursor);
      else return false;
    }),
  );
  return { kind: 'token', id, text: piece };
}

function readTensor(cursor: ProtoCursor): Tensor {
  let [name, datatype] = ['', ''];
  const shape: number[] = [];
  let data: Uint8Array = new Uint8Array();
  inside(cursor, () =>
    fields(cursor, (number, tag) => {
      if (number === 1) name = text(cursor);
      else if (number === 2) datatype = text(cursor);
      else if (number === 3 && (tag & 7) === 2) inside(cursor, () => readPacked(cursor, shape));
      else if (number === 3) shape.push(cursor.readInt64());
      else if (number === 4) data = cursor.readBytes();
      else return false;
    }),
  );
  return { name, datatype: knownDatatype(datatype, name), shape, data };
}

function readPacked(cursor: ProtoCursor, into: number[]): void {
  while (cursor.at < cursor.end) into.push(cursor.readInt64());
}

function readEnded(cursor: ProtoCursor): StreamServerFrame {
  let [outcome, code, message] = ['', '', ''];
  let outputs = 0;
  fields(cursor, (number) => {
    if (number === 1) outcome = text(cursor);
    else if (number === 2) code = text(cursor);
    else if (number === 3) message = text(cursor);
    else if (number === 4) outputs = cursor.readUint64();
    else return false;
  });
  return endedFrom(outcome, code, message, outputs);
}

function readCredit(cursor: ProtoCursor): StreamCredit {
  let [messages, bytes] = [0, 0];
  inside(cursor, () =>
    fields(cursor, (number) => {
      if (number === 1) messages = cursor.readUint64();
      else if (number === 2) bytes = cursor.readUint64();
      else return false;
    }),
  );
  return { messages, bytes };
}

/** Calls back with every field up to the end of the message; what returns false is skipped. */
function fields(cursor: ProtoCursor, read: (field: number, tag: number) => unknown): void {
  for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
    if (read(tag >>> 3, tag) === false) cursor.skip(tag);
  }
}

/** Reads the message that comes next, and goes on behind it. */
function inside<Result>(cursor: ProtoCursor, read: () => Result): Result {
  const stop = cursor.readLength();
  const outer = cursor.end;
  cursor.end = stop;
  const result = read();
  cursor.end = outer;
  cursor.at = stop;
  return result;
}

function text(cursor: ProtoCursor): string {
  return decoder.decode(cursor.readBytes());
}

export function knownDatatype(datatype: string, name: string): Datatype {
  if (isDatatype(datatype)) return datatype;
  throw unreadableAnswer(`tensor ${JSON.stringify(name)} has the datatype ${JSON.stringify(datatype)}`);
}

/** A code that this version does not know counts as `internal`; the message says the rest. */
export function endedFrom(outcome: string, code: string, message: string, outputs: number): StreamServerFrame {
  if (!streamOutcomes.includes(outcome as StreamOutcome))
    throw unreadableAnswer(`the outcome of the stream is ${outcome}`);
  const known = code === '' ? undefined : isErrorCode(code) ? code : 'internal';
  return { kind: 'ended', outcome: outcome as StreamOutcome, code: known, message, outputs };
}
