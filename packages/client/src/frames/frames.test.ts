/** The codecs against protobufjs, which knows nothing of them but the published contract. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isDatatype, type StreamClientFrame, type StreamServerFrame } from '@millrace/protocol';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { base64From, bytesFromBase64 } from './base64.ts';
import { inputJson, serverFrameFromJson } from './frame-json.ts';
import { decodeServerFrame } from './read-server-frame.ts';
import { encodeClientFrame } from './write-client-frame.ts';

interface MessageType {
  fromObject(value: unknown): unknown;
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  toObject(message: unknown, options: object): Record<string, unknown>;
}

const protobuf = createRequire(import.meta.url)('protobufjs') as {
  loadSync(file: string): { lookupType(name: string): MessageType };
};
const proto = protobuf.loadSync(new URL('../../../../proto/millrace/v1/inference.proto', import.meta.url).pathname);
const clientFrame = proto.lookupType('millrace.v1.ClientFrame');
const serverFrame = proto.lookupType('millrace.v1.ServerFrame');

const natural = fc.oneof(fc.nat(), fc.maxSafeNat());
const credit = fc.record({ messages: fc.nat(), bytes: natural });
const bytes = fc.uint8Array({ maxLength: 300 });
const text = fc.string({ unit: 'binary', maxLength: 200 }).map((value) => Buffer.from(value).toString());
const tensor = fc.record({
  name: text,
  datatype: fc.constantFrom('FP32', 'INT64', 'BYTES', 'BOOL').filter(isDatatype),
  shape: fc.array(fc.nat({ max: 1000 }), { maxLength: 5 }),
  data: bytes,
});
const payload = fc.oneof(
  fc.record({ kind: fc.constant('tensors' as const), tensors: fc.array(tensor, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant('text' as const), text }),
  fc.record({ kind: fc.constant('bytes' as const), bytes }),
  fc.constant({ kind: 'none' as const }),
);
const token = fc.record({ kind: fc.constant('token' as const), id: fc.nat(), text });
const parameters = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 8 }).filter((key) => key !== '__proto__'),
  fc.jsonValue({ maxDepth: 3 }),
) as fc.Arbitrary<Record<string, never>>;

const anyClientFrame: fc.Arbitrary<StreamClientFrame> = fc.oneof(
  fc.record({
    kind: fc.constant('open' as const),
    streamId: text,
    mode: fc.constantFrom('new', 'resume', 'either'),
    context: text,
    parameters,
    resumeAfter: natural,
    outputCredit: fc.option(credit, { nil: undefined }),
    protocolVersions: fc.array(fc.nat({ max: 9 }), { maxLength: 3 }),
    clientId: fc.option(text, { nil: undefined }),
    attempt: fc.option(fc.nat(), { nil: undefined }),
  }),
  fc.record({
    kind: fc.constant('input' as const),
    sequence: natural,
    payload,
    endOfInput: fc.boolean(),
    eventTimeMs: fc.option(fc.maxSafeInteger(), { nil: undefined }),
    deadlineMs: fc.option(fc.nat(), { nil: undefined }),
  }),
  fc.record({
    kind: fc.constant('acknowledge' as const),
    output: natural,
    outputCredit: fc.option(credit, { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('cancel' as const), reason: text }),
);

const anyServerFrame: fc.Arbitrary<StreamServerFrame> = fc.oneof(
  fc.record({
    kind: fc.constant('opened' as const),
    streamId: text,
    epoch: natural,
    model: text,
    version: text,
    protocolVersion: fc.nat(),
    acceptedInput: natural,
    nextOutput: natural,
    inputCredit: credit,
    warnings: fc.array(text, { maxLength: 3 }),
  }),
  fc.record({
    kind: fc.constant('accepted' as const),
    input: natural,
    inputCredit: fc.option(credit, { nil: undefined }),
  }),
  fc.record({
    kind: fc.constant('output' as const),
    sequence: natural,
    inputSequence: natural,
    payload: fc.oneof(payload, token),
    endOfOutput: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('draining' as const), message: text }),
  fc.record({
    kind: fc.constant('ended' as const),
    outcome: fc.constantFrom('done', 'failed', 'cancelled', 'expired'),
    code: fc.constantFrom(undefined, 'worker-lost', 'stream-expired'),
    message: text,
    outputs: natural,
  }),
);

/** A payload as fields of its message. */
function payloadFields(one: { readonly kind: string } & Record<string, unknown>): Record<string, unknown> {
  if (one.kind === 'none') return {};
  if (one.kind === 'token') return { token: { id: one.id, text: one.text } };
  if (one.kind !== 'tensors') return { [one.kind]: one[one.kind] };
  const tensors = one.tensors as readonly { data: Uint8Array }[];
  return { tensors: tensors.map(({ data, ...rest }) => ({ ...rest, raw: data })) };
}

/** `google.protobuf.Value` as plain values. */
function valueFrom(value: Record<string, unknown>): unknown {
  if ('structValue' in value) return structFrom(value.structValue as Record<string, unknown>);
  if ('listValue' in value) {
    const { values = [] } = value.listValue as { values?: readonly Record<string, unknown>[] };
    return values.map(valueFrom);
  }
  if ('nullValue' in value) return null;
  return Object.values(value)[0];
}

function structFrom(struct: Record<string, unknown> | undefined): Record<string, unknown> {
  const fields = (struct?.fields ?? {}) as Record<string, Record<string, unknown>>;
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, valueFrom(value)]));
}

const readOptions = { longs: Number, bytes: Array, defaults: true, arrays: true };

describe('protobuf', () => {
  test('protobufjs reads every frame of a client as it was written', () => {
    fc.assert(
      fc.property(anyClientFrame, (frame) => {
        const read = clientFrame.toObject(clientFrame.decode(encodeClientFrame(frame)), readOptions);
        const [[name, fields]] = Object.entries(read) as [[string, Record<string, unknown>]];
        expect(name).toBe(frame.kind);
        const expected = clientFrame.toObject(
          clientFrame.decode(clientFrame.encode(clientFrame.fromObject({ [frame.kind]: objectOf(frame) })).finish()),
          readOptions,
        );
        const { parameters: written, ...rest } = fields;
        const { parameters: _, ...wanted } = expected[frame.kind] as Record<string, unknown>;
        expect(rest).toEqual(wanted);
        if (frame.kind === 'open') expect(structFrom(written as Record<string, unknown>)).toEqual(frame.parameters);
      }),
      { seed: 1, numRuns: 500 },
    );
  });

  test('frames of a server that protobufjs wrote are read as they were', () => {
    fc.assert(
      fc.property(anyServerFrame, (frame) => {
        const message = serverFrame.encode(serverFrame.fromObject({ [frame.kind]: objectOf(frame) })).finish();
        expect(decodeServerFrame(Uint8Array.from(message))).toEqual(frame);
      }),
      { seed: 1, numRuns: 500 },
    );
  });

  test('fields and frames that are not known are passed over', () => {
    const known = serverFrame.encode(serverFrame.fromObject({ accepted: { input: 7 } })).finish();
    expect(decodeServerFrame(Uint8Array.of(0xf8, 0x01, 5, ...known))).toMatchObject({ kind: 'accepted', input: 7 });
    expect(decodeServerFrame(Uint8Array.of(0x3a, 2, 8, 1))).toBeUndefined();
    expect(decodeServerFrame(Uint8Array.of(0x12, 5, 8, 7, 0xa2, 0x06, 0))).toMatchObject({
      kind: 'accepted',
      input: 7,
    });
  });

  test('a frame that is cut anywhere is refused or is a shorter frame, and is never read beyond its end', () => {
    const whole = serverFrame
      .encode(
        serverFrame.fromObject({
          output: { sequence: 3, tensors: [{ name: 'a', datatype: 'FP32', shape: [1], raw: new Uint8Array(4) }] },
        }),
      )
      .finish();
    for (let end = 1; end < whole.length; end++) {
      expect(() => decodeServerFrame(Uint8Array.from(whole.subarray(0, end))), `cut at ${end}`).toThrow(
        /not valid protobuf/,
      );
    }
  });
});

function objectOf(frame: StreamClientFrame | StreamServerFrame): Record<string, unknown> {
  const { kind: _, ...fields } = frame as unknown as Record<string, unknown> & { kind: string };
  const { payload: given, parameters: __, code, ...rest } = fields;
  const named = code === undefined ? {} : { code };
  const object = {
    ...rest,
    ...named,
    ...(given === undefined ? {} : payloadFields(given as { kind: string } & Record<string, unknown>)),
  };
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

describe('JSON', () => {
  test('tensors come back from both forms of JSON', () => {
    const values = {
      FP32: [0.5, -2],
      INT64: [-3, 9],
      UINT8: [1, 255],
      FP16: [1.5, -2],
      BOOL: [true, false],
      FP64: [1e300, 0.1],
    };
    for (const [datatype, data] of Object.entries(values)) {
      const json = JSON.stringify({
        sequence: 1,
        inputSequence: 1,
        tensors: [{ name: 'x', datatype, shape: [2], data }],
      });
      const listed = serverFrameFromJson('output', json);
      const { tensors } = (listed as { payload: { tensors: readonly { data: Uint8Array }[] } }).payload;
      const raw = base64From((tensors[0] as { data: Uint8Array }).data);
      const again = JSON.stringify({
        sequence: 1,
        inputSequence: 1,
        tensors: [{ name: 'x', datatype, shape: [2], raw }],
      });
      expect(serverFrameFromJson('output', again)).toEqual(listed);
    }
    expect(
      serverFrameFromJson(
        'output',
        '{"sequence":1,"tensors":[{"name":"x","datatype":"FP32","shape":[2],"data":[0.5,-2]}]}',
      ),
    ).toMatchObject({
      payload: { tensors: [{ data: new Uint8Array(Float32Array.of(0.5, -2).buffer) }] },
    });
  });

  test('the examples of the reference are read', () => {
    const reference = readFileSync(new URL('../../../../docs/reference/streams.md', import.meta.url), 'utf8');
    const frames = [...reference.matchAll(/^\{"(opened|accepted|output|draining|ended)":(.*)\}$/gm)];
    expect(frames.length).toBeGreaterThan(5);
    for (const [, name = '', json = ''] of frames)
      expect(serverFrameFromJson(name, json)).toMatchObject({ kind: name });
    expect(serverFrameFromJson('unheard-of', '{}')).toBeUndefined();
  });

  test('an input has the names of the contract', () => {
    const frame = inputJson({
      kind: 'input',
      sequence: 2,
      payload: { kind: 'tensors', tensors: [{ name: 'a', datatype: 'UINT8', shape: [2], data: Uint8Array.of(1, 2) }] },
      endOfInput: true,
      eventTimeMs: 5,
    });
    const tensors = [{ name: 'a', datatype: 'UINT8', shape: [2], raw: 'AQI=' }];
    expect(frame).toEqual({ sequence: 2, tensors, endOfInput: true, eventTimeMs: 5 });
  });

  test('base64 survives bytes of every length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (one) => {
        expect(bytesFromBase64(base64From(one))).toEqual(one);
      }),
      { seed: 1 },
    );
    const large = Uint8Array.from({ length: 100_000 }, (_, at) => at * 7);
    expect(bytesFromBase64(base64From(large))).toEqual(large);
  });
});
