/**
 * Reads frames from protobuf by hand, as the largest and most frequent messages of a stream. Tensors and bytes are views of
 * the message.
 */
import type {
  AcknowledgeFrame,
  CancelFrame,
  InputFrame,
  JsonObject,
  OpenFrame,
  OutputFrame,
  StreamClientFrame,
  StreamCredit,
  StreamToken,
  Tensor,
} from '@millrace/protocol';
import { delimitedTag, FieldCursor, onlyOnce, uint32Max, varintTag } from './field-cursor.ts';
import { checkParameterValues, type StreamFrameLimits, tooLarge } from './frame-limits.ts';
import { InputFields, inputFrameFrom, invalidFrame, OpenFields, openFrameFrom, payloadFrom } from './frame-parts.ts';
import { TensorMessageReader } from './read-tensor.ts';
import { ValueReader } from './read-value.ts';

/** What `Generate` asks for. */
export interface GenerateFrames {
  readonly open: OpenFrame;
  readonly input: InputFrame;
}

export class StreamFrameReader {
  readonly #cursor: FieldCursor;
  readonly #values: ValueReader;
  readonly #tensors: TensorMessageReader;

  constructor(limits: StreamFrameLimits) {
    this.#cursor = new FieldCursor(limits);
    this.#values = new ValueReader(this.#cursor);
    this.#tensors = new TensorMessageReader(this.#cursor);
  }

  /** Throws an InferenceError: `invalid-request`, or `request-too-large` where a limit is passed. */
  readClientFrame(bytes: Uint8Array): StreamClientFrame {
    this.#cursor.begin(bytes);
    try {
      return this.#clientFrame();
    } finally {
      this.#cursor.release();
    }
  }

  readGenerateRequest(bytes: Uint8Array): GenerateFrames {
    this.#cursor.begin(bytes);
    try {
      return this.#generateRequest();
    } finally {
      this.#cursor.release();
    }
  }

  /** The `Input` message alone, as a journal holds it. */
  readInput(bytes: Uint8Array): InputFrame {
    this.#cursor.begin(bytes);
    try {
      return inputFrameFrom(this.#inputFields());
    } finally {
      this.#cursor.release();
    }
  }

  /** The `Output` message alone, as a journal holds it. */
  readOutput(bytes: Uint8Array): OutputFrame {
    this.#cursor.begin(bytes);
    try {
      return this.#output();
    } finally {
      this.#cursor.release();
    }
  }

  #clientFrame(): StreamClientFrame {
    const cursor = this.#cursor;
    let frame: StreamClientFrame | undefined;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (frame !== undefined) throw invalidFrame('a message has more than one frame; send one a message');
      const outer = cursor.enter();
      frame = this.#frameOf(tag);
      cursor.end = outer;
    }
    if (frame === undefined) throw invalidFrame('the frame is empty; set one of open, input, acknowledge and cancel');
    return frame;
  }

  #frameOf(tag: number): StreamClientFrame {
    switch (tag) {
      case delimitedTag(1):
        return this.#open();
      case delimitedTag(2):
        return inputFrameFrom(this.#inputFields());
      case delimitedTag(3):
        return this.#acknowledge();
      case delimitedTag(4):
        return this.#cancel();
      default:
        throw invalidFrame(
          `a frame of kind ${tag >>> 3} is not known; clients send open, input, acknowledge and cancel`,
        );
    }
  }

  #generateRequest(): GenerateFrames {
    const cursor = this.#cursor;
    let open: OpenFrame | undefined;
    let input: InputFields | undefined;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag !== delimitedTag(1) && tag !== delimitedTag(2)) {
        cursor.skip(tag);
        continue;
      }
      const outer = cursor.enter();
      if (tag === delimitedTag(1)) open = onlyOnce(open, this.#open(), 'open');
      else input = onlyOnce(input, this.#inputFields(), 'input');
      cursor.end = outer;
    }
    return generateFramesFrom(open, input);
  }

  #open(): OpenFrame {
    const cursor = this.#cursor;
    const { nameBytesMax, protocolVersionsMax } = cursor.limits;
    const fields = new OpenFields();
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      switch (tag) {
        case delimitedTag(1):
          fields.streamId = cursor.readText('open.stream_id', nameBytesMax);
          break;
        case delimitedTag(2):
          fields.mode = cursor.readText('open.mode', nameBytesMax);
          break;
        case delimitedTag(3):
          fields.context = cursor.readText('open.context', nameBytesMax);
          break;
        case delimitedTag(4):
          fields.parameters = onlyOnce(fields.parameters, this.#parameters(), 'open.parameters');
          break;
        case varintTag(5):
          fields.resumeAfter = cursor.readNatural('open.resume_after');
          break;
        case delimitedTag(6):
          fields.outputCredit = onlyOnce(fields.outputCredit, cursor.readCredit(), 'open.output_credit');
          break;
        case varintTag(7):
        case delimitedTag(7):
          cursor.readIntegers(tag, fields.protocolVersions, protocolVersionsMax, 'open.protocol_versions');
          break;
        case delimitedTag(8):
          fields.clientId = cursor.readText('open.client_id', nameBytesMax);
          break;
        case varintTag(9):
          fields.attempt = cursor.readNatural('open.attempt', uint32Max);
          break;
        default:
          cursor.skip(tag);
      }
    }
    return openFrameFrom(fields);
  }

  #parameters(): JsonObject {
    const cursor = this.#cursor;
    const { parametersMax, parametersBytesMax } = cursor.limits;
    const start = cursor.at;
    const bytes = cursor.readLength() - cursor.at;
    if (bytes > parametersBytesMax) {
      throw tooLarge(`open.parameters has ${bytes} bytes, more than the ${parametersBytesMax} allowed; send fewer`);
    }
    cursor.at = start;
    const parameters = this.#values.readStruct('open.parameters', parametersMax);
    checkParameterValues(parameters, cursor.limits);
    return parameters;
  }

  #inputFields(): InputFields {
    const cursor = this.#cursor;
    const fields = new InputFields();
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      switch (tag) {
        case varintTag(1):
          fields.sequence = cursor.readNatural('input.sequence');
          break;
        case delimitedTag(2):
          this.#tensors.read(fields.tensors);
          break;
        case delimitedTag(3):
          fields.text = cursor.readText('input.text', cursor.limits.textBytesMax);
          break;
        case delimitedTag(4):
          fields.bytes = cursor.readBytes();
          break;
        case varintTag(5):
          fields.endOfInput = cursor.readBool();
          break;
        case varintTag(6):
          fields.eventTimeMs = cursor.readInteger('input.event_time_ms');
          break;
        case varintTag(7):
          fields.deadlineMs = cursor.readNatural('input.deadline_ms', uint32Max);
          break;
        default:
          cursor.skip(tag);
      }
    }
    return fields;
  }

  #acknowledge(): AcknowledgeFrame {
    const cursor = this.#cursor;
    let output = 0;
    let outputCredit: StreamCredit | undefined;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag === varintTag(1)) output = cursor.readNatural('acknowledge.output');
      else if (tag === delimitedTag(2))
        outputCredit = onlyOnce(outputCredit, cursor.readCredit(), 'acknowledge.output_credit');
      else cursor.skip(tag);
    }
    return { kind: 'acknowledge', output, outputCredit };
  }

  #cancel(): CancelFrame {
    const cursor = this.#cursor;
    let reason = '';
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag === delimitedTag(1)) reason = cursor.readText('cancel.reason', cursor.limits.nameBytesMax);
      else cursor.skip(tag);
    }
    return { kind: 'cancel', reason };
  }

  #output(): OutputFrame {
    const cursor = this.#cursor;
    let sequence = 0;
    let inputSequence = 0;
    const tensors: Tensor[] = [];
    let text: string | undefined;
    let bytes: Uint8Array | undefined;
    let token: StreamToken | undefined;
    let endOfOutput = false;
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag === varintTag(1)) sequence = cursor.readNatural('output.sequence');
      else if (tag === varintTag(2)) inputSequence = cursor.readNatural('output.input_sequence');
      else if (tag === delimitedTag(3)) this.#tensors.read(tensors);
      else if (tag === delimitedTag(4)) text = cursor.readText('output.text', cursor.limits.frameBytesMax);
      else if (tag === delimitedTag(5)) bytes = cursor.readBytes();
      else if (tag === delimitedTag(6)) token = onlyOnce(token, this.#token(), 'output.token');
      else if (tag === varintTag(7)) endOfOutput = cursor.readBool();
      else cursor.skip(tag);
    }
    const payload = payloadFrom({ tensors, text, bytes }, 'output');
    if (token !== undefined && payload.kind !== 'none') throw invalidFrame('output has a token beside another payload');
    return { kind: 'output', sequence, inputSequence, payload: token ?? payload, endOfOutput };
  }

  #token(): StreamToken {
    const cursor = this.#cursor;
    const outer = cursor.enter();
    let id = 0;
    let text = '';
    for (let tag = cursor.nextTag(); tag !== 0; tag = cursor.nextTag()) {
      if (tag === varintTag(1)) id = cursor.readNatural('output.token.id', uint32Max);
      else if (tag === delimitedTag(2)) text = cursor.readText('output.token.text', cursor.limits.frameBytesMax);
      else cursor.skip(tag);
    }
    cursor.end = outer;
    return { kind: 'token', id, text };
  }
}

/** The input of `Generate` is the only one: its sequence may be left out. */
export function generateFramesFrom(open: OpenFrame | undefined, input: InputFields | undefined): GenerateFrames {
  if (open === undefined) throw invalidFrame('the request has no open');
  if (input === undefined) throw invalidFrame('the request has no input');
  if (input.sequence === 0) input.sequence = 1;
  input.endOfInput = true;
  return { open, input: inputFrameFrom(input) };
}
