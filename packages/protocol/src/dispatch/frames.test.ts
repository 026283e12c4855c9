import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Datatype, datatypes } from '../datatypes.ts';
import { type ErrorCode, errorCatalogue } from '../errors.ts';
import type { Tensor, TensorSpec } from '../tensor.ts';
import { decodeFromWorker, decodeToWorker } from './decode-frame.ts';
import { type FrameFromWorker, type FrameToWorker, frameKinds, frameMagic, MalformedFrame } from './frame-layout.ts';
import { DispatchFrameReader } from './frame-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import { type BatchTensor, engineNames, type LoadSpec, type Region } from './messages.ts';
import type { WarmupFill, WarmupInput, WarmupSample } from './warm-up.ts';

const contentFile = { path: 'model.onnx', bytes: 5, sha256: 'ab'.repeat(32) };
const modelContent = {
  digest: `sha256:${'0'.repeat(64)}`,
  file: 'model.onnx',
  files: [contentFile, { ...contentFile, path: 'parts/weights' }],
  locations: [{ kind: 'folder', path: '/models/m/1' } as const],
};

/** The JSON of a load whose content differs in this. */
function withContent(changes: object): string {
  const rest = { model: 1, name: 'm', version: '1', engine: 'onnxruntime', path: '/m' };
  return JSON.stringify({ ...rest, content: { ...modelContent, ...changes } });
}

const seed = 20261115;
const release = (): void => {};
const noShared = (): undefined => undefined;

const u16 = fc.nat({ max: 0xffff });
const u32 = fc.nat({ max: 0xffff_ffff });
const u53 = fc.maxSafeNat();
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const shape = fc.array(fc.oneof(fc.nat({ max: 9 }), u53), { maxLength: 5 });
const tensor = fc.record({ index: u32, shape, data: fc.uint8Array({ maxLength: 70 }) });
const tensors = fc.array(tensor, { maxLength: 4 });
const tensorSpec: fc.Arbitrary<TensorSpec> = fc.record(
  {
    name: text,
    datatype: fc.constantFrom(...(Object.keys(datatypes) as Datatype[])),
    shape: fc.array(fc.integer({ min: -1, max: 1000 }), { maxLength: 4 }),
    engineShape: fc.array(fc.integer({ min: -1, max: 1000 }), { maxLength: 4 }),
    isOptional: fc.boolean(),
    hasDefault: fc.boolean(),
    isAnyRank: fc.boolean(),
  },
  { requiredKeys: ['name', 'datatype', 'shape'], noNullPrototype: true },
);
const hello = fc.record({
  kind: fc.constant('hello' as const),
  versions: fc.record({ oldest: u16, newest: u16 }, { noNullPrototype: true }),
  toWorkerBytes: u53,
  toRouterBytes: u53,
  frameBytesMax: fc.maxSafeNat().map((bytes) => Math.max(bytes, 16_384)),
});
const fill: fc.Arbitrary<WarmupFill> = fc.oneof(
  fc.record({ kind: fc.constantFrom('zeros' as const, 'random' as const) }, { noNullPrototype: true }),
  fc.record({ kind: fc.constant('file' as const), path: text }, { noNullPrototype: true }),
  fc.record(
    { kind: fc.constant('values' as const), values: fc.array(fc.nat(), { maxLength: 3 }) },
    { noNullPrototype: true },
  ),
);
const warmupInput: fc.Arbitrary<WarmupInput> = fc.record(
  { index: fc.nat(), shape: fc.array(fc.nat(), { maxLength: 3 }), fill },
  { noNullPrototype: true },
);
const warmupSample: fc.Arbitrary<WarmupSample> = fc.record(
  { name: text, rows: fc.nat(), runs: fc.nat(), inputs: fc.array(warmupInput, { maxLength: 2 }) },
  { noNullPrototype: true },
);
const loadSpec: fc.Arbitrary<LoadSpec> = fc.record(
  {
    model: u32,
    name: text,
    version: text,
    engine: fc.constantFrom(...engineNames),
    path: text,
    folder: text,
    content: fc.constant(modelContent),
    inputs: fc.array(tensorSpec, { maxLength: 3 }),
    outputs: fc.array(tensorSpec, { maxLength: 3 }),
    isBatched: fc.boolean(),
    threads: fc.nat({ max: 64 }),
    isSpinning: fc.boolean(),
    gpu: fc.record(
      { id: fc.nat({ max: 7 }), provider: fc.constantFrom('cuda' as const, 'tensorrt' as const) },
      { noNullPrototype: true },
    ),
    batchSizes: fc.array(fc.nat({ max: 256 }), { maxLength: 4 }),
    warmup: fc.array(warmupSample, { maxLength: 2 }),
    concurrency: fc.nat({ max: 64 }),
    cacheBytesMax: fc.nat(),
    cutsZipMaps: fc.boolean(),
  },
  {
    requiredKeys: [
      'model',
      'name',
      'version',
      'engine',
      'path',
      'inputs',
      'outputs',
      'isBatched',
      'threads',
      'isSpinning',
    ],
    noNullPrototype: true,
  },
);

/** Tensors as calls carry them: named, in a region like those of a batch. */
const named = fc
  .array(
    fc.record({
      name: text,
      datatype: fc.constantFrom(...(Object.keys(datatypes) as Datatype[])),
      shape,
      data: fc.uint8Array({ maxLength: 70 }),
    }),
    { maxLength: 4 },
  )
  .map((parts) => {
    const { tensors: placed, region } = inRegion(parts.map((part, index) => ({ index, ...part })));
    const tensors = parts.map((part, index): Tensor => ({ ...part, data: placed[index]?.data ?? part.data }));
    return { tensors, region };
  });

/** Copies tensors side by side into one region, as a router does, with a gap to show that offsets are kept. */
function inRegion(parts: readonly BatchTensor[]): { tensors: BatchTensor[]; region: Region } {
  let end = 0;
  const offsets = parts.map(({ data }) => {
    const offset = end + 8;
    end = offset + Math.ceil(data.length / 8) * 8;
    return offset;
  });
  const bytes = new Uint8Array(end + 8);
  const placed = parts.map(({ index, shape, data }, position) => {
    const offset = offsets[position] ?? 0;
    bytes.set(data, offset);
    return { index, shape, data: bytes.subarray(offset, offset + data.length) };
  });
  return { tensors: placed, region: { bytes, release } };
}

const toWorker: fc.Arbitrary<FrameToWorker> = fc.oneof(
  hello,
  loadSpec.map((spec) => ({ kind: 'load' as const, spec })),
  fc.record({ kind: fc.constant('unload' as const), model: u32 }),
  fc.record({ kind: fc.constant('cancel' as const), batch: u53 }),
  fc.record({ kind: fc.constant('release' as const), offsets: fc.array(u53, { maxLength: 9 }) }),
  fc.constant({ kind: 'stop' as const }),
  fc.record({ call: u53, batch: u53, parts: named }).map(({ call, batch, parts }) => {
    return { kind: 'call-answered' as const, call, batch, outputs: parts.tensors, region: parts.region };
  }),
  fc.record(
    {
      kind: fc.constant('call-failed' as const),
      call: u53,
      code: fc.constantFrom(...(Object.keys(errorCatalogue) as ErrorCode[])),
      message: text,
      retryAfterMs: fc.double({ min: 0, noNaN: true }),
    },
    { requiredKeys: ['kind', 'call', 'code', 'message'], noNullPrototype: true },
  ),
  fc
    .record({ batch: u53, model: u32, outputs: fc.array(u32, { maxLength: 5 }), parts: tensors })
    .map(({ batch, model, outputs, parts }) => {
      const placed = inRegion(parts);
      return { kind: 'dispatch' as const, batch, model, outputs, inputs: placed.tensors, region: placed.region };
    }),
);

const fromWorker: fc.Arbitrary<FrameFromWorker> = fc.oneof(
  hello,
  fc.record(
    {
      kind: fc.constant('ready' as const),
      model: u32,
      loadMs: fc.double({ noNaN: true }),
      residentBytes: u53,
      cost: fc.record({ addedBytes: u53, processorMs: fc.double({ noNaN: true }) }),
    },
    { requiredKeys: ['kind', 'model', 'loadMs', 'residentBytes'] },
  ),
  fc.record({ kind: fc.constant('load-failed' as const), model: u32, message: text }),
  fc.record({
    kind: fc.constant('load-failed' as const),
    model: u32,
    message: text,
    isFinal: fc.constant(true as const),
  }),
  fc.record({ kind: fc.constant('credit' as const), batchesMax: u32 }),
  fc.record({ kind: fc.constant('call-cancelled' as const), call: u53, batch: u53 }),
  fc
    .record({
      call: u53,
      batch: u53,
      model: text,
      version: text,
      outputs: fc.array(text, { maxLength: 3 }),
      timeoutMs: fc.oneof(fc.nat(), fc.constant(Number.POSITIVE_INFINITY)),
      parts: named,
    })
    .map(({ parts, ...rest }) => ({ kind: 'call' as const, ...rest, inputs: parts.tensors, region: parts.region })),
  fc.record({
    kind: fc.constant('failed' as const),
    batch: u53,
    code: fc.constantFrom(...(Object.keys(errorCatalogue) as ErrorCode[])),
    message: text,
  }),
  fc
    .record({ batch: u53, runMicros: fc.double({ noNaN: true }), parts: tensors })
    .map(({ batch, runMicros, parts }) => {
      const placed = inRegion(parts);
      return { kind: 'answered' as const, batch, runMicros, outputs: placed.tensors, region: placed.region };
    }),
);

/** What two frames must agree on: everything but where the tensors lie. */
function meaning(frame: FrameToWorker | FrameFromWorker): unknown {
  if (!('region' in frame)) return frame;
  const { region: _region, ...rest } = frame;
  const plain = (parts: readonly { readonly data: Uint8Array }[]) =>
    parts.map((part) => ({ ...part, data: [...part.data] }));
  return 'inputs' in rest ? { ...rest, inputs: plain(rest.inputs) } : { ...rest, outputs: plain(rest.outputs) };
}

function bytesOf(...frames: readonly (FrameToWorker | FrameFromWorker)[]): Uint8Array {
  const writer = new FrameWriter();
  for (const frame of frames) expect(writer.append(frame)).toBe(true);
  return writer.takeBytes();
}

describe('round trips', () => {
  test('every message to a worker is decoded as it was encoded, many in one buffer, split anywhere', () => {
    fc.assert(
      fc.property(fc.array(toWorker, { maxLength: 12 }), fc.array(fc.integer({ min: 1, max: 90 })), (frames, cuts) => {
        const read: unknown[] = [];
        const reader = new DispatchFrameReader((frame) => read.push(meaning(decodeToWorker(frame, noShared))));
        pushInPieces(reader, bytesOf(...frames), cuts);
        expect(read).toEqual(frames.map(meaning));
      }),
      { seed, numRuns: 150 },
    );
  });

  test('a writer that refers to tensors writes the same bytes, in pieces, and copies no tensor', () => {
    fc.assert(
      fc.property(
        fc.array(toWorker, { maxLength: 12 }),
        fc.constantFrom(0, 1, 24, 200),
        (frames, referenceBytesMin) => {
          const writer = new FrameWriter(undefined, referenceBytesMin);
          for (const frame of frames) writer.append(frame);
          const pieces = writer.takePieces();
          expect(Buffer.concat(pieces)).toEqual(Buffer.from(bytesOf(...frames)));
          expect([writer.hasReferences, writer.isEmpty]).toEqual([false, true]);
          const data = frames
            .flatMap((frame) => (frame.kind === 'dispatch' ? frame.inputs : []))
            .map((input) => input.data);
          if (referenceBytesMin === 0)
            for (const bytes of data) expect(bytes.length === 0 || pieces.includes(bytes)).toBe(true);
        },
      ),
      { seed, numRuns: 150 },
    );
  });

  test('every message from a worker is decoded as it was encoded, one byte at a time', () => {
    fc.assert(
      fc.property(fc.array(fromWorker, { maxLength: 6 }), (frames) => {
        const read: unknown[] = [];
        const reader = new DispatchFrameReader((frame) => read.push(meaning(decodeFromWorker(frame, noShared))));
        pushInPieces(reader, bytesOf(...frames), new Array(10_000).fill(1));
        expect(read).toEqual(frames.map(meaning));
      }),
      { seed, numRuns: 80 },
    );
  });

  test('tensors in shared memory are sent as offsets, and are read without a copy', () => {
    fc.assert(
      fc.property(tensors, fc.nat({ max: 512 }), (parts, gap) => {
        const { tensors: placed, region } = inRegion(parts);
        const shared = new Uint8Array(gap + region.bytes.length);
        shared.set(region.bytes, gap);
        const writer = new FrameWriter();
        const message = { kind: 'answered' as const, batch: 1, runMicros: 2, outputs: placed, region };
        expect(writer.append(message, gap)).toBe(true);
        const frame = writer.takeBytes();
        const decoded = decodeFromWorker(frame, (offset, bytes) => ({
          bytes: shared.subarray(offset, offset + bytes),
          release,
        }));
        expect(meaning(decoded)).toEqual(meaning(message));
        if (decoded.kind !== 'answered') throw new Error('not an answer');
        for (const output of decoded.outputs) expect(output.data.buffer).toBe(shared.buffer);
      }),
      { seed, numRuns: 100 },
    );
  });
});

describe('alignment and lifetime', () => {
  const message = (fill: number): FrameFromWorker => {
    const { tensors: outputs, region } = inRegion([
      { index: 0, shape: [3], data: new Uint8Array(3).fill(fill) },
      { index: 1, shape: [2], data: new Uint8Array(16).fill(fill) },
    ]);
    return { kind: 'answered', batch: fill, runMicros: 0, outputs, region };
  };

  test('a tensor in a frame can be viewed as 8-byte elements, wherever the frame lay in its chunk', () => {
    const bytes = bytesOf(message(1), message(2));
    for (let shift = 0; shift < 8; shift++) {
      const chunk = new Uint8Array(bytes.length + shift).subarray(shift);
      chunk.set(bytes);
      const reader = new DispatchFrameReader((frame) => {
        const decoded = decodeFromWorker(frame, noShared);
        if (decoded.kind !== 'answered') throw new Error('not an answer');
        for (const { data } of decoded.outputs) expect(data.byteOffset % 8).toBe(0);
      });
      reader.push(chunk);
    }
    expect.assertions(2 + 8 * 4);
  });

  test('views of a Buffer are plain Uint8Arrays', () => {
    const frames: Uint8Array[] = [];
    new DispatchFrameReader((frame) => frames.push(frame)).push(Buffer.from(bytesOf({ kind: 'cancel', batch: 7 })));
    expect(frames.map((frame) => frame.constructor)).toEqual([Uint8Array]);
    expect(decodeToWorker(frames[0] as Uint8Array, noShared)).toEqual({ kind: 'cancel', batch: 7 });
  });

  test('a message handed out stays intact while later ones arrive', () => {
    const held: FrameFromWorker[] = [];
    const reader = new DispatchFrameReader((frame) => held.push(decodeFromWorker(frame, noShared)));
    const writer = new FrameWriter();
    for (let round = 1; round <= 20; round++) {
      writer.append(message(round));
      const bytes = writer.takeBytes();
      // A socket gives each read memory of its own; the writer's is used again, which must not show.
      const cut = (round * 7) % bytes.length;
      reader.push(Uint8Array.from(bytes.subarray(0, cut)));
      reader.push(Uint8Array.from(bytes.subarray(cut)));
      bytes.fill(0xee);
      writer.recycle(bytes);
    }
    expect(held.map(meaning)).toEqual(Array.from({ length: 20 }, (_, index) => meaning(message(index + 1))));
  });

  test('recycled memory shows nothing of earlier frames', () => {
    const writer = new FrameWriter();
    const dirty = new Uint8Array(4096).fill(0xaa);
    writer.recycle(dirty);
    writer.append({ kind: 'load-failed', model: 0, message: 'x' });
    writer.append(message(0));
    expect([...writer.takeBytes()]).not.toContain(0xaa);
  });
});

describe('limits', () => {
  test('a frame over the maximum is not written, and what was written before stays', () => {
    const writer = new FrameWriter(16_384);
    const dispatch = (bytes: number): FrameToWorker => {
      const region = { bytes: new Uint8Array(bytes), release };
      const inputs = [{ index: 0, shape: [], data: region.bytes }];
      return { kind: 'dispatch', batch: 1, model: 1, inputs, outputs: [], region };
    };
    expect(writer.append({ kind: 'cancel', batch: 3 })).toBe(true);
    expect(writer.append(dispatch(16_384 - 64 + 1))).toBe(false);
    expect(writer.append(dispatch(16_384 - 64 + 1), 0)).toBe(true);
    expect(writer.append(dispatch(16_384 - 64))).toBe(true);
    expect(writer.takeBytes().length).toBe(16 + 64 + 16_384);
    expect(writer.isEmpty).toBe(true);
  });

  test('every frame without tensors fits in the least maximum, a long failure cut between two characters', () => {
    const writer = new FrameWriter(16_384);
    const message = 'ż'.repeat(20_000);
    expect(writer.append({ kind: 'failed', batch: 1, code: 'inference-failed', message })).toBe(true);
    expect(writer.append({ kind: 'load-failed', model: 1, message: `x${message}` })).toBe(true);
    expect(writer.append({ kind: 'release', offsets: new Array(1024).fill(0) })).toBe(true);
    expect(() => writer.append({ kind: 'release', offsets: new Array(1025).fill(0) })).toThrow(
      /1025 releases in a frame; the maximum is 1024/,
    );
    const read: FrameFromWorker[] = [];
    const bytes = writer.takeBytes();
    new DispatchFrameReader((frame) => {
      if (frame[4] !== frameKinds.release) read.push(decodeFromWorker(frame, noShared));
    }).push(bytes);
    expect(read).toMatchObject([{ message: 'ż'.repeat(4096) }, { message: `x${'ż'.repeat(4095)}` }]);
  });

  test('a maximum that ordinary frames could not keep is refused at once', () => {
    expect(() => new FrameWriter(16_383)).toThrow(/maximum length of a frame must be from 16384/);
    expect(() => new FrameWriter(2 ** 32)).toThrow(/maximum length of a frame must be from 16384/);
  });

  test('a frame announced as longer than the maximum is refused before memory is taken for it', () => {
    const reader = new DispatchFrameReader(() => {}, 1024);
    expect(() => reader.push(Uint8Array.of(8, 4, 0, 0, 1, 0, 0, 0))).toThrow(/1032 bytes is over the maximum of 1024/);
  });

  test.each([0, 4, 7, 12])('a frame announced as %i bytes long is refused', (length) => {
    const reader = new DispatchFrameReader(() => {});
    expect(() => reader.push(Uint8Array.of(length, 0, 0, 0, 1, 0, 0, 0))).toThrow(MalformedFrame);
  });

  test('a tensor outside of its region is a defect of the sender and is not sent', () => {
    const writer = new FrameWriter();
    const region = { bytes: new Uint8Array(16), release };
    const inputs = [{ index: 0, shape: [4], data: new Uint8Array(4) }];
    expect(() => writer.append({ kind: 'dispatch', batch: 1, model: 1, inputs, outputs: [], region }, 0)).toThrow(
      /must be a view of its message/,
    );
  });
});

describe('malformed frames', () => {
  const hello = bytesOf({
    kind: 'hello',
    versions: { oldest: 1, newest: 2 },
    toWorkerBytes: 1,
    toRouterBytes: 2,
    frameBytesMax: 16_384,
  });
  const changed = (bytes: Uint8Array, at: number, value: number): Uint8Array => {
    const copy = Uint8Array.from(bytes);
    copy[at] = value;
    return copy;
  };

  test('another protocol is reported as such', () => {
    expect(new DataView(hello.buffer, hello.byteOffset).getUint32(8, true)).toBe(frameMagic);
    expect(() => decodeToWorker(changed(hello, 8, 0), noShared)).toThrow(/does not use the dispatch protocol/);
  });

  test('a peer that takes no ordinary frame is refused', () => {
    expect(() => decodeToWorker(changed(hello, 33, 0), noShared)).toThrow(/accepts frames of at most 0 bytes/);
  });

  test('a frame in the wrong direction is refused', () => {
    const credit = bytesOf({ kind: 'credit', batchesMax: 2 });
    expect(() => decodeToWorker(credit, noShared)).toThrow(`no frame of kind ${frameKinds.credit} goes to a worker`);
    const stop = bytesOf({ kind: 'stop' });
    expect(() => decodeFromWorker(stop, noShared)).toThrow(`no frame of kind ${frameKinds.stop} comes from a worker`);
  });

  test('shared memory that is not there is refused', () => {
    const writer = new FrameWriter();
    const region = { bytes: new Uint8Array(16), release };
    writer.append({ kind: 'answered', batch: 1, outputs: [], region, runMicros: 1 }, 64);
    expect(() => decodeFromWorker(writer.takeBytes(), noShared)).toThrow(
      /16 bytes at offset 64 are outside of the shared memory/,
    );
  });

  test('a text that is not UTF-8 is refused', () => {
    const frame = bytesOf({ kind: 'load-failed', model: 1, message: 'abc' });
    expect(() => decodeFromWorker(changed(frame, 17, 0xff), noShared)).toThrow(/not valid UTF-8/);
  });

  test.each([
    ['{', /does not contain valid JSON/],
    ['[]', /the model must be an object/],
    ['{"engine":"abacus"}', /unknown engine "abacus"/],
    ['{"engine":"onnxruntime","model":-1}', /model must be a whole number/],
    [withContent({ digest: 'md5:0' }), /digest must be "sha256:" and 64 hexadecimal digits/],
    [withContent({ file: 'other' }), /file must be the path of one of the files/],
    [
      withContent({ files: [{ ...contentFile, path: '../model' }] }),
      /"\.\.\/model" must be relative, without "\." and "\.\."/,
    ],
    [withContent({ files: [{ ...contentFile, path: '/model' }] }), /"\/model" must be relative/],
    [withContent({ files: [{ ...contentFile, path: 'a\nb' }] }), /has a line break.*rename the file/],
    [withContent({ files: [{ ...contentFile, sha256: 'zz' }] }), /sha256 must be 64 hexadecimal digits/],
  ])('a load frame with %s is refused', (json, message) => {
    const body = new TextEncoder().encode(json);
    const frame = new Uint8Array(16 + Math.ceil(body.length / 8) * 8);
    new DataView(frame.buffer).setUint32(0, frame.length, true);
    frame[4] = frameKinds.load;
    new DataView(frame.buffer).setUint32(12, body.length, true);
    frame.set(body, 16);
    expect(() => decodeToWorker(frame, noShared)).toThrow(message);
  });

  test.each([
    ['{', /does not contain valid JSON/],
    ['null', /its head must be an object/],
    ['{"outputs":[],"model":1}', /model must be a string/],
    ['{"outputs":["a",2],"model":"m","version":""}', /an output must be a string/],
    ['{"outputs":[],"model":"m","version":"","inputs":[["x","FP31"]]}', /unknown datatype "FP31"/],
    ['{"outputs":[],"model":"m","version":"","inputs":[["x","FP32"]]}', /declares 1 tensors but contains 0/],
  ])('a call frame with %s is refused', (json, message) => {
    const body = new TextEncoder().encode(json);
    const frame = new Uint8Array(56 + Math.ceil(body.length / 8) * 8);
    new DataView(frame.buffer).setUint32(0, frame.length, true);
    frame[4] = frameKinds.call;
    new DataView(frame.buffer).setUint32(52, body.length, true);
    frame.set(body, 56);
    expect(() => decodeFromWorker(frame, noShared)).toThrow(message);
  });

  test('whatever bytes arrive, the reader and the decoders either read them or say MalformedFrame', () => {
    const findShared = (offset: number, bytes: number): Region | undefined =>
      offset + bytes <= 4096 ? { bytes: new Uint8Array(bytes), release } : undefined;
    const damaged = fc
      .record({
        frames: fc.array(fc.oneof(toWorker, fromWorker), { minLength: 1, maxLength: 4 }),
        damage: fc.array(fc.record({ at: fc.nat(), value: fc.nat({ max: 255 }) }), { minLength: 1, maxLength: 6 }),
      })
      .map(({ frames, damage }) => {
        const bytes = Uint8Array.from(bytesOf(...frames));
        for (const { at, value } of damage) bytes[at % bytes.length] = value;
        return bytes;
      });
    let refusals = 0;
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 200 })), (bytes) => {
        for (const decode of [decodeToWorker, decodeFromWorker]) {
          try {
            new DispatchFrameReader((frame) => decode(frame, findShared), 1 << 20).push(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedFrame);
            refusals++;
          }
        }
      }),
      { seed, numRuns: 1500 },
    );
    expect(refusals).toBeGreaterThan(100);
  });
});

function pushInPieces(reader: DispatchFrameReader, bytes: Uint8Array, cuts: readonly number[]): void {
  let at = 0;
  for (const cut of cuts) {
    if (at >= bytes.length) return;
    reader.push(Uint8Array.from(bytes.subarray(at, at + cut)));
    at += cut;
  }
  reader.push(Uint8Array.from(bytes.subarray(at)));
}
