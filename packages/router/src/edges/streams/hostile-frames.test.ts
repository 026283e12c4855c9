/** Frames that no client sends by accident: each is refused with an InferenceError, at once, whatever is wrong with it. */
import { toBinary, toJson } from '@bufbuild/protobuf';
import { InferenceError } from '@millrace/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClientFrameSchema } from '../../proto/generated/millrace/v1/inference_pb.ts';
import { streamIdWarnings } from '../../streams/opening-warnings.ts';
import { doAtOnce } from '../slices/slice-queue.ts';
import { checkStreamId, defaultStreamFrameLimits, type StreamFrameLimits } from './frame-limits.ts';
import { StreamFrameReader } from './read-frame.ts';
import { FrameJsonReader } from './read-frame-json.ts';
import { anyClientFrame, clientMessageOf } from './testing/any-frame.ts';

const protobuf = new StreamFrameReader(defaultStreamFrameLimits);
const json = new FrameJsonReader(defaultStreamFrameLimits);

/** Every way in which bytes of a client are read. */
const reads: readonly ((bytes: Uint8Array) => unknown)[] = [
  (bytes) => protobuf.readClientFrame(bytes),
  (bytes) => protobuf.readGenerateRequest(bytes),
  (bytes) => protobuf.readInput(bytes),
  (bytes) => protobuf.readOutput(bytes),
  (bytes) => doAtOnce(json.readClientFrame(bytes)),
  (bytes) => doAtOnce(json.readGenerateRequest(bytes)),
  (bytes) => doAtOnce(json.readStreamBody(bytes)),
  (bytes) => doAtOnce(json.readInputBody(bytes)),
  (bytes) => json.readAcknowledgeBody(bytes),
];

const refusals: ReadonlySet<string> = new Set(['invalid-request', 'request-too-large']);

/** What was thrown must be an InferenceError that blames the caller; nothing thrown is fine. */
function expectOnlyRefusals(bytes: Uint8Array): void {
  for (const read of reads) {
    try {
      read(bytes);
    } catch (error) {
      if (error instanceof InferenceError && refusals.has(error.code)) continue;
      throw error;
    }
  }
}

const bothForms: fc.Arbitrary<Uint8Array> = anyClientFrame.chain((frame) => {
  const message = clientMessageOf(frame);
  const text = Buffer.from(JSON.stringify(toJson(ClientFrameSchema, message)));
  return fc.constantFrom(toBinary(ClientFrameSchema, message), new Uint8Array(text));
});

test('a frame that is cut off anywhere is refused or a shorter frame', () => {
  fc.assert(
    fc.property(bothForms, (bytes) => {
      for (let length = 0; length < bytes.length; length += 1) expectOnlyRefusals(bytes.subarray(0, length));
    }),
    { seed: 7, numRuns: 20 },
  );
});

test('a frame with wrong bytes anywhere is refused or another frame', () => {
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(bothForms, changes, (bytes: Uint8Array, list) => {
      const changed = new Uint8Array(bytes);
      for (const [at, byte] of list) if (changed.length > 0) changed[at % changed.length] = byte;
      expectOnlyRefusals(changed);
    }),
    { seed: 7, numRuns: 500 },
  );
});

test('any bytes at all are refused or a frame', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), expectOnlyRefusals), { seed: 7, numRuns: 500 });
});

const field = (number: number, content: Uint8Array): Uint8Array => {
  const length: number[] = [];
  let rest = content.length;
  for (; rest >= 128; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), content]);
};
const textField = (number: number, text: string): Uint8Array => field(number, Buffer.from(text));
const repeated = (count: number, part: Uint8Array): Uint8Array =>
  Buffer.concat(new Array<Uint8Array>(count).fill(part));

function refusalOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (error instanceof InferenceError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'accepted';
}

const small: StreamFrameLimits = {
  frameBytesMax: 4000,
  textBytesMax: 8,
  tensorsMax: 2,
  dimensionsMax: 3,
  nameBytesMax: 8,
  parametersMax: 2,
  parametersBytesMax: 60,
  jsonElementsMax: 4,
  listedElementsMax: 4,
  protocolVersionsMax: 2,
};

describe('limits of protobuf', () => {
  const reader = new StreamFrameReader(small);
  const tensor = (name: string, more: Uint8Array = new Uint8Array()): Uint8Array =>
    field(2, Buffer.concat([textField(1, name), textField(2, 'INT8'), Buffer.from([3 * 8 + 2, 1, 0]), more]));
  const input = (...parts: Uint8Array[]): Uint8Array => field(2, Buffer.concat([Buffer.from([8, 1]), ...parts]));
  const key = (name: string): Uint8Array =>
    field(1, Buffer.concat([textField(1, name), field(2, Buffer.from([0x20, 1]))]));
  const listed = field(5, repeated(3, field(1, Buffer.from([0x20, 1]))));
  const deep = (depth: number): Uint8Array => (depth === 0 ? new Uint8Array() : field(1, field(6, deep(depth - 1))));
  test.each<[string, Uint8Array, string]>([
    ['frame bytes', new Uint8Array(4001), 'request-too-large: the frame has 4001 bytes, more than the 4000 allowed'],
    ['text', input(textField(3, '123456789')), 'request-too-large: input.text has 9 bytes, more than the 8 allowed'],
    ['tensors', input(tensor('a'), tensor('b'), tensor('c')), 'request-too-large: a frame has more than 2 tensors'],
    [
      'dimensions',
      input(field(2, field(3, new Uint8Array(4)))),
      'request-too-large: the shape of a tensor has more than 3',
    ],
    ['names', input(tensor('123456789')), 'request-too-large: the name of a tensor has 9 bytes'],
    [
      'parameters',
      field(1, field(4, Buffer.concat([key('a'), key('b'), key('c')]))),
      'request-too-large: open.parameters has more than 2 keys',
    ],
    ['parameter bytes', field(1, field(4, new Uint8Array(61))), 'request-too-large: open.parameters has 61 bytes'],
    ['keys', field(1, field(4, key('123456789'))), 'request-too-large: a key has 9 bytes'],
    ['listed elements', input(tensor('a', listed), tensor('b', listed)), 'invalid-request'],
    ['versions', field(1, field(7, new Uint8Array(3))), 'request-too-large: open.protocol_versions has more than 2'],
    ['a name that comes twice', input(tensor('a'), tensor('a')), "invalid-request: tensor 'a' comes twice"],
    [
      'two frames',
      Buffer.concat([field(4, new Uint8Array()), field(4, new Uint8Array())]),
      'invalid-request: a message has more than one frame',
    ],
    ['an unknown frame', field(9, new Uint8Array()), 'invalid-request: a frame of kind 9 is not known'],
    ['no frame', new Uint8Array(), 'invalid-request: the frame is empty'],
    [
      'a credit that comes twice',
      field(3, Buffer.concat([field(2, new Uint8Array()), field(2, new Uint8Array())])),
      'comes twice',
    ],
    [
      'a sequence above 2^53',
      field(2, Buffer.from([8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1])),
      'input.sequence is above',
    ],
    ['text that is not UTF-8', input(field(3, Buffer.from([0xff]))), 'input.text is not UTF-8'],
  ])('%s', (_, bytes, message) => {
    expect(refusalOf(() => reader.readClientFrame(bytes))).toContain(message);
  });

  test('lists nested deeper than JSON may be, and as many elements as allowed', () => {
    const wide = new StreamFrameReader({ ...defaultStreamFrameLimits, listedElementsMax: 4 });
    expect(
      refusalOf(() =>
        wide.readClientFrame(input(tensor('a', field(5, repeated(5, field(1, Buffer.from([0x20, 1]))))))),
      ),
    ).toContain('request-too-large: the data of a tensor has more than 4 elements');
    const nested = new StreamFrameReader(defaultStreamFrameLimits);
    expect(refusalOf(() => nested.readClientFrame(input(tensor('a', field(5, deep(150))))))).toContain(
      'nested more than 100 deep',
    );
    expect(
      refusalOf(() => nested.readClientFrame(field(1, field(4, field(1, field(2, field(6, deep(150)))))))),
    ).toContain('nested more than 100 deep');
  });

  test('more fields than any frame has are refused, not walked', () => {
    const reader = new StreamFrameReader(defaultStreamFrameLimits);
    expect(refusalOf(() => reader.readClientFrame(field(4, Buffer.alloc(600_000, Buffer.from([0x78, 0])))))).toContain(
      'too many fields',
    );
  });
});

describe('limits of JSON', () => {
  const reader = new FrameJsonReader(small);
  const tensor = (name: string, data: number[] = []): object => ({
    name,
    datatype: 'INT8',
    shape: [data.length],
    data,
  });
  test.each<[string, unknown, string]>([
    ['frame bytes', 'x'.repeat(4001), 'request-too-large: the frame has'],
    ['text', { input: { sequence: 1, text: '123456789' } }, 'request-too-large: input.text: JSON at'],
    [
      'tensors',
      { input: { sequence: 1, tensors: [tensor('a'), tensor('b'), tensor('c')] } },
      'a frame has more than 2 tensors',
    ],
    ['dimensions', { input: { tensors: [{ shape: [1, 1, 1, 1] }] } }, 'more than 3 dimensions'],
    ['names', { input: { tensors: [tensor('123456789')] } }, 'input.tensors[0].name: JSON at'],
    ['keys', { open: { parameters: { 123456789: 1 } } }, 'request-too-large: open.parameters: JSON at'],
    ['parameters', { open: { parameters: { a: 1, b: 2, c: 3 } } }, 'an object has more than 2 keys'],
    [
      'parameter bytes',
      { open: { parameters: { a: 'b'.repeat(60) } } },
      'request-too-large: open.parameters: it has 68 bytes',
    ],
    [
      'listed elements',
      { input: { tensors: [tensor('a', [1, 2, 3]), tensor('b', [1, 2])] } },
      'list more than 4 elements',
    ],
    [
      'versions',
      { open: { protocolVersions: [1, 2, 3] } },
      'request-too-large: open.protocolVersions[2]: there are more than 2',
    ],
    ['a name that comes twice', { input: { tensors: [tensor('a'), tensor('a')] } }, "tensor 'a' comes twice"],
  ])('%s', (_, frame, message) => {
    const bytes = Buffer.from(JSON.stringify(frame));
    expect(refusalOf(() => doAtOnce(reader.readClientFrame(bytes)))).toContain(message);
  });

  test('nesting', () => {
    const text = `{"open":{"parameters":{"a":${'['.repeat(200)}${']'.repeat(200)}}}}`;
    expect(refusalOf(() => doAtOnce(json.readClientFrame(Buffer.from(text))))).toContain('nested more than 100 deep');
  });
});

test('a stream id has 1 to 128 safe characters', () => {
  for (const id of ['a', 'A-Z_0.9~', 'x'.repeat(128), '...']) checkStreamId(id);
  for (const id of ['', '.', '..', 'a/b', 'a b', 'ä', 'a\n', 'x'.repeat(129)]) {
    expect(() => checkStreamId(id), id).toThrow('must have 1 to 128 characters');
  }
});

test('an id without room for 64 bits draws a warning', () => {
  const guessable = ['1', '9b1f', 'tale-1', '20261116', '0123456789abcde', 'aaaaaaaaaaaaa', '-'.repeat(33)];
  for (const id of guessable) expect([id, streamIdWarnings(id).length]).toEqual([id, 1]);
  expect(streamIdWarnings('9b1f')).toEqual([expect.stringContaining('room for 16 random bits, less than 64')]);
  const random = ['0123456789abcdef', '3b241101-e2bb-4255-8caf-4136c566a962', 'Xq7vR2mLp9Za', '01234567890123456789'];
  for (const id of random) expect([id, streamIdWarnings(id)]).toEqual([id, []]);
});
