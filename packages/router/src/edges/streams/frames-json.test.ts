import { create, fromJson, type JsonValue as ProtoJson, toBinary, toJson } from '@bufbuild/protobuf';
import {
  encodeBytesElements,
  type InferenceError,
  type InputFrame,
  type OutputFrame,
  type StreamServerFrame,
  type Tensor,
} from '@millrace/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ClientFrameSchema,
  GenerateRequestSchema,
  OutputSchema,
  type ServerFrame,
  ServerFrameSchema,
} from '../../proto/generated/millrace/v1/inference_pb.ts';
import { doAtOnce } from '../slices/slice-queue.ts';
import { defaultStreamFrameLimits } from './frame-limits.ts';
import { StreamFrameReader } from './read-frame.ts';
import { FrameJsonReader } from './read-frame-json.ts';
import {
  anyClientFrame,
  anyServerFrame,
  clientMessageOf,
  serverMessageOf,
  withPlainBytes,
} from './testing/any-frame.ts';
import { encodeOutput } from './write-frame.ts';
import { writeCollectJson, writeFrameJson } from './write-frame-json.ts';

const reader = new FrameJsonReader(defaultStreamFrameLimits);
const protobuf = new StreamFrameReader(defaultStreamFrameLimits);
const bytesOf = (json: unknown): Uint8Array => Buffer.from(typeof json === 'string' ? json : JSON.stringify(json));
const readFrame = (json: unknown) => doAtOnce(reader.readClientFrame(bytesOf(json)));
const writtenText = (frame: StreamServerFrame): string => Buffer.from(doAtOnce(writeFrameJson(frame))).toString();
const written = (frame: StreamServerFrame): ProtoJson => JSON.parse(writtenText(frame)) as ProtoJson;

/** 64-bit integers, which the generated code writes as text. */
const longFields = ['sequence', 'inputSequence', 'epoch', 'acceptedInput', 'nextOutput', 'input', 'outputs'];

/** The JSON of the generated code with our two liberties: exact integers as numbers, and numbers also where they are 0. */
function expectedJson(message: ServerFrame): ProtoJson {
  const merge = (short: ProtoJson | undefined, full: ProtoJson, parent: string): ProtoJson | undefined => {
    if (Array.isArray(full)) return short;
    if (typeof full !== 'object' || full === null) return short ?? (full === 0 || full === '0' ? full : undefined);
    const members = Object.entries(full).map(([key, value]): [string, ProtoJson | undefined] => {
      const shorter = (short as Record<string, ProtoJson> | undefined)?.[key];
      const merged = merge(shorter, value, key);
      const isWide = longFields.includes(key) || (key === 'bytes' && parent === 'inputCredit');
      return [key, isWide && typeof merged === 'string' ? Number(merged) : merged];
    });
    return Object.fromEntries(members.filter(([, value]) => value !== undefined)) as ProtoJson;
  };
  const short = toJson(ServerFrameSchema, message) as ProtoJson;
  return merge(short, toJson(ServerFrameSchema, message, { alwaysEmitImplicit: true }) as ProtoJson, '') as ProtoJson;
}

test('frames of a client are read as the generated code writes them, in both spellings', () => {
  fc.assert(
    fc.property(anyClientFrame, fc.boolean(), (frame, useProtoFieldName) => {
      const json = toJson(ClientFrameSchema, clientMessageOf(frame), { useProtoFieldName });
      expect(withPlainBytes(readFrame(json))).toEqual(frame);
    }),
    { seed: 7 },
  );
});

test('frames of a server without tensors are written as the generated code writes them', () => {
  fc.assert(
    fc.property(anyServerFrame, (frame) => {
      fc.pre(frame.kind !== 'output' || frame.payload.kind !== 'tensors');
      expect(written(frame)).toEqual(expectedJson(serverMessageOf(frame)));
    }),
    { seed: 7 },
  );
});

test('the generated code reads what is written, and means the same frame by it', () => {
  fc.assert(
    fc.property(anyServerFrame, (frame) => {
      const message = fromJson(ServerFrameSchema, written(frame));
      if (frame.kind !== 'output') {
        expect(message).toEqual(serverMessageOf(frame));
        return;
      }
      // Tensors that are listed become raw again when they are read.
      const bytes = toBinary(OutputSchema, message.frame.value as never);
      expect(withPlainBytes(protobuf.readOutput(bytes))).toEqual(frame);
    }),
    { seed: 7 },
  );
});

test('the JSON of an output follows from its bytes in a journal', () => {
  fc.assert(
    fc.property(anyServerFrame, (frame) => {
      fc.pre(frame.kind === 'output');
      expect(writtenText(protobuf.readOutput(encodeOutput(frame as OutputFrame)))).toBe(writtenText(frame));
    }),
    { seed: 7 },
  );
});

function outputOf(tensor: Omit<Tensor, 'name'>): OutputFrame {
  const payload = { kind: 'tensors', tensors: [{ name: 'y', ...tensor }] } as const;
  return { kind: 'output', sequence: 1, inputSequence: 1, payload, endOfOutput: false };
}

describe('tensors in JSON', () => {
  const bytesOfArray = (array: ArrayBufferView): Uint8Array => new Uint8Array(array.buffer);
  test.each([
    ['FP32', new Float32Array([0.1, -0]), '"data":[0.1,-0.0]'],
    ['FP64', new Float64Array([1, Number.NaN]), '"raw":"AAAAAAAA8D8AAAAAAAD4fw=="'],
    ['FP16', new Uint16Array([0x3c00, 0x7c00]), '"raw":"ADwAfA=="'],
    ['FP16', new Uint16Array([0x3c00, 0x3555]), '"data":[1.0,0.3333]'],
    ['BF16', new Uint16Array([0x3f80, 0x7f7f]), '"data":[1.0,3.39e38]'],
    ['BF16', new Uint16Array([0x3f80, 0xff80]), '"raw":"gD+A/w=="'],
    ['INT64', new BigInt64Array([2n ** 53n - 1n, 1n - 2n ** 53n]), '"data":[9007199254740991,-9007199254740991]'],
    ['INT64', new BigInt64Array([1n, -(2n ** 53n)]), '"raw":"AQAAAAAAAAAAAAAAAADg/w=="'],
    ['UINT64', new BigUint64Array([2n ** 53n - 1n, 2n ** 53n]), '"raw":"////////HwAAAAAAAAAgAA=="'],
    ['BOOL', new Uint8Array([1, 0]), '"data":[true,false]'],
  ] as const)('%s is written as data, or as raw where JSON is not exact', (datatype, elements, expected) => {
    expect(writtenText(outputOf({ datatype, shape: [2], data: bytesOfArray(elements) }))).toContain(
      `"shape":[2],${expected}}`,
    );
  });

  test('BYTES are written as strings, or as raw where they are not UTF-8', () => {
    const of = (elements: (string | Uint8Array)[]): string =>
      writtenText(outputOf({ datatype: 'BYTES', shape: [elements.length], data: encodeBytesElements(elements) }));
    expect(of(['a', '水'])).toContain('"data":["a","水"]');
    expect(of(['a', new Uint8Array([0xff])])).toContain('"raw":"AQAAAGEBAAAA/w=="');
  });

  test('a large output is written in slices, and reads back', () => {
    const data = bytesOfArray(new Float32Array(600_000).fill(0.5));
    const work = writeFrameJson(outputOf({ datatype: 'FP32', shape: [600_000], data }));
    let slices = 0;
    let result = work.next();
    for (; result.done !== true; result = work.next()) slices += 1;
    expect(slices).toBeGreaterThan(100);
    const json = JSON.parse(Buffer.from(result.value).toString()) as { output: { tensors: [{ data: number[] }] } };
    expect(json.output.tensors[0].data).toHaveLength(600_000);
  });

  test('a large input is read in slices, wherever its data stands', () => {
    const data = Array.from({ length: 40_000 }, (_, index) => [index / 8]);
    const input = { tensors: [{ data, name: 'x', datatype: 'FP32', shape: [40_000] }], sequence: 3 };
    const work = reader.readClientFrame(bytesOf({ input }));
    let slices = 0;
    let result = work.next();
    for (; result.done !== true; result = work.next()) slices += 1;
    expect(slices).toBeGreaterThan(3);
    const frame = result.value as InputFrame;
    const tensor = frame.payload.kind === 'tensors' ? frame.payload.tensors[0] : undefined;
    expect(tensor?.data).toEqual(bytesOfArray(Float32Array.from(data, ([element]) => element as number)));
  });
});

test('integers are taken as numbers and as text', () => {
  const frame = { kind: 'acknowledge', output: 7, outputCredit: { messages: 2, bytes: 2 ** 53 - 1 } };
  expect(
    readFrame({ acknowledge: { output: '7', output_credit: { messages: '2', bytes: '9007199254740991' } } }),
  ).toEqual(frame);
  expect(readFrame({ acknowledge: { output: 7, outputCredit: { messages: 2, bytes: 9007199254740991 } } })).toEqual(
    frame,
  );
});

test('a field that is null is absent, also where it would be a message', () => {
  const json = { open: { context: 'm', parameters: null, outputCredit: null, streamId: null, protocolVersions: null } };
  expect(readFrame(json)).toEqual(readFrame({ open: { context: 'm' } }));
});

test('a large integer among the parameters stays exact', () => {
  expect(readFrame('{"open":{"parameters":{"seed":18446744073709551615}}}')).toMatchObject({
    parameters: { seed: 18446744073709551615n },
  });
});

test.each([
  ['', 'JSON at line 1'],
  ['[]', 'expected an object'],
  ['{}', 'this one has 0'],
  ['{"input":{"sequence":1},"cancel":{}}', 'this one has 2'],
  ['{"input":{"sequence":1}} x', 'expected the end of the text'],
  ['{"inputs":{}}', "the message has no field 'inputs'; its fields are open, input, acknowledge, cancel"],
  ['{"input":{"sequence":0}}', 'input.sequence is 0'],
  ['{"input":{"sequence":1.5}}', 'input.sequence: 1.5 is not an integer from 0 to 9007199254740991'],
  ['{"input":{"sequence":9007199254740992}}', 'input.sequence: 9007199254740992 is not an integer'],
  ['{"input":{"sequence":"one"}}', "input.sequence: 'one' is not an integer"],
  ['{"input":{"sequence":[]}}', 'input.sequence: it is of kind array'],
  ['{"input":{"sequence":1,"seqence":1}}', "input has no field 'seqence'"],
  ['{"input":{"sequence":1,"end_of_input":true,"endOfInput":true}}', 'input.endOfInput comes twice, in both spellings'],
  [
    '{"input":{"sequence":1,"end_of_input":1}}',
    'input.endOfInput: JSON at line 1, column 39 (byte 38): expected true or false',
  ],
  ['{"input":{"sequence":1,"text":7}}', 'input.text: JSON at'],
  ['{"input":{"sequence":1,"text":"a","bytes":"AAAA"}}', 'input has more than one of tensors, text and bytes'],
  ['{"input":{"sequence":1,"bytes":"A"}}', "'bytes' is not base64"],
  ['{"input":{"sequence":1,"tensors":[{}]}}', 'input.tensors[0]: tensor #0 has no name'],
  ['{"input":{"sequence":1,"tensors":[{"name":"x","datatype":"FP8"}]}}', "invalid datatype 'FP8'"],
  [
    '{"input":{"sequence":1,"tensors":[{"name":"x","datatype":"FP32","shape":[-1]}]}}',
    'input.tensors[0].shape[0]: -1 is not',
  ],
  [
    '{"input":{"sequence":1,"tensors":[{"name":"x","datatype":"INT8","shape":[1],"data":[300]}]}}',
    "element 0 of input 'x' is 300",
  ],
  [
    '{"input":{"sequence":1,"tensors":[{"name":"x","datatype":"INT8","shape":[1],"data":"300"}]}}',
    'input.tensors[0].data: it is of kind string',
  ],
  [
    '{"input":{"sequence":1,"tensors":[{"name":"x","datatype":"INT8","shape":[1],"raw":7}]}}',
    'input.tensors[0].raw: it is of kind number',
  ],
  ['{"open":{"mode":"again"}}', "open.mode is 'again'; the modes are new, resume, either"],
  ['{"open":{"streamId":"a b"}}', "the stream id 'a b' must have 1 to 128 characters"],
  ['{"open":{"parameters":[]}}', 'open.parameters: it is of kind array; it must be an object'],
  ['{"open":{"parameters":{"a":[NaN]}}}', 'open.parameters: it has NaN'],
  ['{"open":{"protocolVersions":[-1]}}', 'open.protocolVersions[0]: -1 is not'],
  ['{"acknowledge":{"output":-1}}', 'acknowledge.output: -1 is not'],
  ['{"acknowledge":{"outputCredit":{"messages":4294967296}}}', 'acknowledge.outputCredit.messages: 4294967296 is not'],
])('%s is refused with the field in the message', (json, message) => {
  let error: unknown;
  try {
    readFrame(json);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toMatchObject({ name: 'InferenceError', code: 'invalid-request' });
  expect((error as InferenceError).message).toContain(message);
});

describe('bodies of requests', () => {
  test('POST /v1/streams: the input is the first, and may be the last', () => {
    const body = {
      context: 'storyteller',
      parameters: { seed: 7 },
      input: { text: 'Once' },
      end_of_input: true,
      stream_id: 'tale-1',
    };
    expect(doAtOnce(reader.readStreamBody(bytesOf(body)))).toEqual({
      open: readFrame({ open: { context: 'storyteller', parameters: { seed: 7 }, streamId: 'tale-1' } }),
      input: readFrame({ input: { sequence: 1, text: 'Once', endOfInput: true } }),
    });
    expect(doAtOnce(reader.readStreamBody(bytesOf({ context: 'm' }))).input).toBeUndefined();
    expect(doAtOnce(reader.readStreamBody(bytesOf({ context: 'm', endOfInput: true }))).input).toMatchObject({
      sequence: 1,
      payload: { kind: 'none' },
      endOfInput: true,
    });
    expect(() => doAtOnce(reader.readStreamBody(bytesOf({ input: { sequence: 2 } })))).toThrow(
      'the first input of a stream has 1',
    );
    expect(() => doAtOnce(reader.readStreamBody(bytesOf({ mode: 'new' })))).toThrow("has no field 'mode'");
  });

  test('…/inputs and …/acknowledge are the frames without their names', () => {
    expect(doAtOnce(reader.readInputBody(bytesOf({ sequence: 2, text: 'a' })))).toEqual(
      readFrame({ input: { sequence: 2, text: 'a' } }),
    );
    expect(() => doAtOnce(reader.readInputBody(bytesOf({ text: 'a' })))).toThrow('input.sequence is 0');
    expect(reader.readAcknowledgeBody(bytesOf({ output: 3 }))).toEqual(readFrame({ acknowledge: { output: 3 } }));
    expect(() => reader.readAcknowledgeBody(bytesOf({ input: 3 }))).toThrow("has no field 'input'");
  });

  test('Generate and Collect', () => {
    const request = { open: { context: 'm' }, input: { text: 'a' } };
    expect(doAtOnce(reader.readGenerateRequest(bytesOf(request)))).toEqual(
      protobuf.readGenerateRequest(toBinary(GenerateRequestSchema, fromJson(GenerateRequestSchema, request))),
    );
    const output: OutputFrame = {
      kind: 'output',
      sequence: 2,
      inputSequence: 1,
      payload: { kind: 'none' },
      endOfOutput: true,
    };
    const ended = { kind: 'ended', outcome: 'failed', code: 'worker-lost', message: 'm', outputs: 2 } as const;
    expect(Buffer.from(doAtOnce(writeCollectJson(output, ended))).toString()).toBe(
      '{"output":{"sequence":2,"inputSequence":1,"endOfOutput":true},"ended":{"outcome":"failed","code":"worker-lost","message":"m","outputs":2}}',
    );
    expect(Buffer.from(doAtOnce(writeCollectJson(undefined, ended))).toString()).toMatch(/^\{"ended":/);
  });
});

test('a message of the generated code with nothing in it is refused', () => {
  expect(() => readFrame(toJson(ClientFrameSchema, create(ClientFrameSchema)))).toThrow('this one has 0');
});
