/**
 * Reads frames, and the bodies of requests that stand for them, from JSON. In slices: a frame may have a million elements.
 * What is at most `sliceBytes` long can be read at once with `doAtOnce`.
 */
import {
  type AcknowledgeFrame,
  type CancelFrame,
  type InputFrame,
  type JsonLimits,
  type JsonObject,
  JsonReader,
  type JsonSpan,
  type JsonValue,
  LongValues,
  type OpenFrame,
  readJsonValue,
  type StreamClientFrame,
  type StreamCredit,
} from '@millrace/protocol';
import { bytesInSlices } from '../repository/base64-file.ts';
import { nextSliceBytes, type SliceGenerator, sliceBytes } from '../slices/slice-queue.ts';
import { uint32Max } from './field-cursor.ts';
import { checkFrameLength, checkParameterValues, type StreamFrameLimits, tooLarge } from './frame-limits.ts';
import { InputFields, inputFrameFrom, invalidFrame, OpenFields, openFrameFrom } from './frame-parts.ts';
import { readFields, readIntegerField, readListField } from './json-fields.ts';
import { type GenerateFrames, generateFramesFrom } from './read-frame.ts';
import { TensorJsonReader, takeStringSpan } from './read-tensor-json.ts';

const safeMax = Number.MAX_SAFE_INTEGER;
/** Everything of a frame beside its text, parameters and tensors. */
const otherBytesMax = 128 * 1024;
/** More than any message has fields. */
const messageKeysMax = 64;
/** And more than their names have bytes. */
const messageKeyBytesMax = 256;

/** What `POST /v1/streams` asks for. */
export interface StreamBody {
  readonly open: OpenFrame;
  /** Absent: inputs follow in requests of their own. */
  readonly input: InputFrame | undefined;
}

/** An input whose tensors and bytes are still to be read. */
interface PendingInput {
  readonly fields: InputFields;
  readonly tensors: TensorJsonReader;
  bytes: JsonSpan | undefined;
}

export class FrameJsonReader {
  readonly #limits: StreamFrameLimits;
  readonly #jsonLimits: JsonLimits;
  readonly #parameterLimits: JsonLimits;

  constructor(limits: StreamFrameLimits) {
    this.#limits = limits;
    const { parametersMax, parametersBytesMax, nameBytesMax } = limits;
    const headBytesMax = limits.textBytesMax + parametersBytesMax + otherBytesMax;
    this.#jsonLimits = { keysMax: messageKeysMax, keyBytesMax: messageKeyBytesMax, headBytesMax };
    this.#parameterLimits = { keysMax: parametersMax, keyBytesMax: nameBytesMax, headBytesMax: parametersBytesMax };
  }

  /** An object with one key, the name of the frame. */
  *readClientFrame(bytes: Uint8Array): SliceGenerator<StreamClientFrame> {
    const reader = yield* this.#begin(bytes);
    const frames: (StreamClientFrame | PendingInput)[] = [];
    readFields(reader, '', {
      open: () => frames.push(openFrameFrom(this.#open(reader))),
      input: () => frames.push(this.#input(reader, 'input')),
      acknowledge: () => frames.push(this.#acknowledge(reader, 'acknowledge')),
      cancel: () => frames.push(this.#cancel(reader)),
    });
    reader.expectEnd();
    const [frame] = frames;
    if (frame === undefined || frames.length > 1) {
      throw invalidFrame(`a frame has one of open, input, acknowledge and cancel; this one has ${frames.length}`);
    }
    return 'kind' in frame ? frame : inputFrameFrom(yield* resolveInput(bytes, frame));
  }

  *readGenerateRequest(bytes: Uint8Array): SliceGenerator<GenerateFrames> {
    const reader = yield* this.#begin(bytes);
    const opens: OpenFields[] = [];
    const inputs: PendingInput[] = [];
    readFields(reader, '', {
      open: () => opens.push(this.#open(reader)),
      input: () => inputs.push(this.#input(reader, 'input')),
    });
    reader.expectEnd();
    const [open] = opens;
    const [input] = inputs;
    const frame = open === undefined ? undefined : openFrameFrom(open);
    return generateFramesFrom(frame, input === undefined ? undefined : yield* resolveInput(bytes, input));
  }

  /** The body of `POST /v1/streams`. The input needs no sequence: it is the first. */
  *readStreamBody(bytes: Uint8Array): SliceGenerator<StreamBody> {
    const reader = yield* this.#begin(bytes);
    const open = new OpenFields();
    const inputs: PendingInput[] = [];
    let endOfInput = false;
    readFields(reader, '', {
      ...this.#beginningFields(reader, open),
      input: () => inputs.push(this.#input(reader, 'input')),
      endOfInput: () => {
        endOfInput = reader.readBoolean();
      },
    });
    reader.expectEnd();
    const frame = openFrameFrom(open);
    const [input] = inputs;
    if (input === undefined && !endOfInput) return { open: frame, input: undefined };
    const fields = input === undefined ? new InputFields() : yield* resolveInput(bytes, input);
    if (fields.sequence > 1)
      throw invalidFrame(`input.sequence is ${fields.sequence}; the first input of a stream has 1`);
    fields.sequence = 1;
    fields.endOfInput ||= endOfInput;
    return { open: frame, input: inputFrameFrom(fields) };
  }

  /** The body of `POST /v1/streams/{id}/inputs`. */
  *readInputBody(bytes: Uint8Array): SliceGenerator<InputFrame> {
    const reader = yield* this.#begin(bytes);
    const input = this.#input(reader, '');
    reader.expectEnd();
    return inputFrameFrom(yield* resolveInput(bytes, input));
  }

  /** The body of `POST /v1/streams/{id}/acknowledge`, read at once: it is short. */
  readAcknowledgeBody(bytes: Uint8Array): AcknowledgeFrame {
    if (bytes.length > otherBytesMax)
      throw tooLarge(`the body has ${bytes.length} bytes, more than the ${otherBytesMax} allowed`);
    const reader = new JsonReader(bytes, undefined, this.#jsonLimits);
    const frame = this.#acknowledge(reader, '');
    reader.expectEnd();
    return frame;
  }

  /** Parameters alone, as metadata of a call has them, read at once: they are short. */
  readParameters(bytes: Uint8Array): JsonObject {
    const reader = new JsonReader(bytes, undefined, this.#jsonLimits);
    const parameters = this.#parameters(reader);
    reader.expectEnd();
    return parameters;
  }

  *#begin(bytes: Uint8Array): SliceGenerator<JsonReader> {
    checkFrameLength(bytes, this.#limits);
    if (bytes.length <= sliceBytes) return new JsonReader(bytes, undefined, this.#jsonLimits);
    const longValues = new LongValues(bytes);
    let step = nextSliceBytes(0);
    for (; !longValues.step(2 * step); step = nextSliceBytes(step)) yield;
    yield;
    return new JsonReader(bytes, undefined, this.#jsonLimits, longValues);
  }

  #open(reader: JsonReader): OpenFields {
    const fields = new OpenFields();
    readFields(reader, 'open', {
      ...this.#beginningFields(reader, fields),
      mode: () => {
        fields.mode = this.#name(reader);
      },
      resumeAfter: () => {
        fields.resumeAfter = readIntegerField(reader, 0, safeMax);
      },
      outputCredit: () => {
        fields.outputCredit = readCredit(reader, 'open.outputCredit');
      },
      protocolVersions: () => {
        readListField(reader, 'open.protocolVersions', (index) => {
          const { protocolVersionsMax } = this.#limits;
          if (index === protocolVersionsMax) throw tooLarge(`there are more than ${protocolVersionsMax}; send fewer`);
          fields.protocolVersions.push(readIntegerField(reader, 0, uint32Max));
        });
      },
    });
    return fields;
  }

  /** The fields that `open` shares with the body of `POST /v1/streams`. */
  #beginningFields(reader: JsonReader, fields: OpenFields): Record<string, () => void> {
    return {
      streamId: () => {
        fields.streamId = this.#name(reader);
      },
      context: () => {
        fields.context = this.#name(reader);
      },
      parameters: () => {
        fields.parameters = this.#parameters(reader);
      },
      clientId: () => {
        fields.clientId = this.#name(reader);
      },
      attempt: () => {
        fields.attempt = readIntegerField(reader, 0, uint32Max);
      },
    };
  }

  #parameters(reader: JsonReader): JsonObject {
    const { parametersBytesMax } = this.#limits;
    if (reader.peekKind() !== 'object') throw invalidFrame(`it is of kind ${reader.peekKind()}; it must be an object`);
    const start = reader.position;
    const span = reader.takeLong() ?? reader.takeSpan();
    if (span.end - start > parametersBytesMax) {
      throw tooLarge(`it has ${span.end - start} bytes, more than the ${parametersBytesMax} allowed; send fewer`);
    }
    const inside = new JsonReader(reader.bytes, span, this.#parameterLimits);
    const value = readJsonValue(inside);
    inside.expectEnd();
    checkParameterValues(value, this.#limits);
    checkFinite(value);
    return value as JsonObject;
  }

  #input(reader: JsonReader, path: string): PendingInput {
    const fields = new InputFields();
    const input: PendingInput = { fields, tensors: new TensorJsonReader(this.#limits), bytes: undefined };
    readFields(reader, path, {
      sequence: () => {
        fields.sequence = readIntegerField(reader, 0, safeMax);
      },
      tensors: () => input.tensors.readHeads(reader, path === '' ? 'tensors' : `${path}.tensors`),
      text: () => {
        fields.text = reader.readString(this.#limits.textBytesMax, 'the text');
      },
      bytes: () => {
        input.bytes = takeStringSpan(reader);
      },
      endOfInput: () => {
        fields.endOfInput = reader.readBoolean();
      },
      eventTimeMs: () => {
        fields.eventTimeMs = readIntegerField(reader, -safeMax, safeMax);
      },
      deadlineMs: () => {
        fields.deadlineMs = readIntegerField(reader, 0, uint32Max);
      },
    });
    return input;
  }

  #acknowledge(reader: JsonReader, path: string): AcknowledgeFrame {
    let output = 0;
    let outputCredit: StreamCredit | undefined;
    readFields(reader, path, {
      output: () => {
        output = readIntegerField(reader, 0, safeMax);
      },
      outputCredit: () => {
        outputCredit = readCredit(reader, path === '' ? 'outputCredit' : `${path}.outputCredit`);
      },
    });
    return { kind: 'acknowledge', output, outputCredit };
  }

  #cancel(reader: JsonReader): CancelFrame {
    let reason = '';
    readFields(reader, 'cancel', {
      reason: () => {
        reason = this.#name(reader);
      },
    });
    return { kind: 'cancel', reason };
  }

  #name(reader: JsonReader): string {
    return reader.readString(this.#limits.nameBytesMax, 'the text');
  }
}

function readCredit(reader: JsonReader, path: string): StreamCredit {
  let messages = 0;
  let bytes = 0;
  readFields(reader, path, {
    messages: () => {
      messages = readIntegerField(reader, 0, uint32Max);
    },
    bytes: () => {
      bytes = readIntegerField(reader, 0, safeMax);
    },
  });
  return { messages, bytes };
}

function* resolveInput(bytes: Uint8Array, input: PendingInput): SliceGenerator<InputFields> {
  const { fields, tensors } = input;
  yield* tensors.readData(bytes, fields.tensors);
  if (input.bytes !== undefined) fields.bytes = yield* bytesInSlices('bytes', bytes, input.bytes);
  return fields;
}

/** JSON has no NaN, but the reader takes it, as tensors may have it. */
function checkFinite(value: JsonValue): void {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw invalidFrame(`it has ${value}, which is no JSON number`);
  if (typeof value === 'object' && value !== null) for (const member of Object.values(value)) checkFinite(member);
}
