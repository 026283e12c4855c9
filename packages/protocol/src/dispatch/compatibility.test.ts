/** What keeps workers and routers of different releases, and of different languages, able to talk: numbers, versions, and what is new to the receiver. */
import { describe, expect, test } from 'vitest';
import { decodeFromWorker, decodeToWorker } from './decode-frame.ts';
import {
  type FrameFromWorker,
  type FrameToWorker,
  frameKinds,
  MalformedFrame,
  placementInFrame,
  placementShared,
  UnknownFrameKind,
} from './frame-layout.ts';
import { DispatchFrameReader } from './frame-reader.ts';
import { FrameWriter } from './frame-writer.ts';
import { dispatchVersions, takeCommonVersion, VersionMismatch, type VersionRange } from './versions.ts';

/** Every number that was ever given to a kind, or is kept for one. Lines are only added. */
const numbersGiven: Readonly<Record<number, string>> = {
  1: 'hello',
  2: 'load',
  3: 'unload',
  4: 'dispatch',
  5: 'cancel',
  6: 'release',
  7: 'stop',
  8: 'ready',
  9: 'load-failed',
  10: 'credit',
  11: 'answered',
  12: 'failed',
  13: 'call',
  14: 'call-answered',
  15: 'call-failed',
  16: 'call-cancelled',
  17: 'load-refused',
  18: 'partial-answer',
  19: 'grant',
};

const region = { bytes: new Uint8Array(24).fill(5), release: () => {} };
const tensors = [
  { index: 0, shape: [3], data: region.bytes.subarray(0, 3) },
  { index: 1, shape: [], data: region.bytes.subarray(8, 16) },
];
const named = tensors.map(({ shape, data }, position) => ({
  name: `t${position}`,
  datatype: 'UINT8' as const,
  shape,
  data,
}));
const versions = { oldest: 3, newest: 0xfffe };
const worker = { id: 'gpu-3', incarnation: 'f00d', capacity: 8, loaded: [`sha256:${'0'.repeat(64)}`] };
const hello = { kind: 'hello', versions, toWorkerBytes: 1, toRouterBytes: 2, frameBytesMax: 2 ** 32, worker } as const;
const spec = { model: 1, name: 'm', version: '1', engine: 'onnxruntime', path: '/m', inputs: [], outputs: [] } as const;

const load = { running: 3, waiting: 1, cacheBytes: 2 ** 33, cacheBytesMax: 2 ** 34, preemptions: 7 };
const probe = { key: 'k', layout: 'padded', rowsMax: 32, isExact: false, findings: ['why'] } as const;
const usage = { promptTokens: 12, finishReason: 'length' } as const;

const toWorker: readonly FrameToWorker[] = [
  hello,
  { kind: 'load', spec: { ...spec, isBatched: true, threads: 1, isSpinning: false } },
  { kind: 'unload', model: 1 },
  { kind: 'dispatch', batch: 1, model: 2, inputs: tensors, outputs: [0], region },
  { kind: 'cancel', batch: 1 },
  { kind: 'grant', batch: 1, answers: 8 },
  { kind: 'release', offsets: [64, 128] },
  { kind: 'stop' },
  { kind: 'call-answered', call: 1, batch: 2, outputs: named, region },
  { kind: 'call-failed', call: 1, code: 'model-full', message: 'full', retryAfterMs: 10 },
];

const fromWorker: readonly FrameFromWorker[] = [
  hello,
  { kind: 'ready', model: 1, loadMs: 2, residentBytes: 3, cost: { addedBytes: 1, processorMs: 2 }, probe },
  { kind: 'load-failed', model: 1, message: 'no file' },
  { kind: 'load-failed', model: 1, message: 'no input', isFinal: true },
  { kind: 'credit', batchesMax: 2 },
  { kind: 'answered', batch: 1, outputs: tensors, region, runMicros: 2, generation: load },
  { kind: 'partial-answer', batch: 1, sequence: 3, outputs: tensors, region, generation: { ...load, usage } },
  { kind: 'failed', batch: 1, code: 'unsupported', message: 'why', generation: load },
  { kind: 'call', call: 1, batch: 2, model: 'm', version: '', inputs: named, outputs: [], timeoutMs: 5, region },
  { kind: 'call-cancelled', call: 1, batch: 2 },
];

const findRegion = () => region;

function bytesOf(frame: FrameToWorker | FrameFromWorker, sharedOffset?: number): Uint8Array {
  const writer = new FrameWriter();
  writer.append(frame, sharedOffset);
  return writer.takeBytes();
}

/** As a release might write it that has a field more: the header is the same but for the length. */
function withFieldsAppended(frame: Uint8Array): Uint8Array {
  const longer = new Uint8Array(frame.length + 16).fill(0xdd);
  longer.set(frame);
  new DataView(longer.buffer).setUint32(0, longer.length, true);
  return longer;
}

function withoutRegion(frame: FrameToWorker | FrameFromWorker): unknown {
  return { ...frame, region: undefined };
}

describe('numbers', () => {
  test('every kind of frame has the number it was given', () => {
    for (const [kind, number] of Object.entries(frameKinds)) expect(numbersGiven[number]).toBe(kind);
    expect(new Set(Object.values(frameKinds)).size).toBe(Object.keys(frameKinds).length);
  });

  test('every kind of frame is among those that these tests write', () => {
    const written = new Set([...toWorker, ...fromWorker].map((frame) => bytesOf(frame)[4]));
    expect(written).toEqual(new Set(Object.values(frameKinds)));
  });

  test('placement 0 means in the frame and 1 in shared memory', () => {
    expect([placementInFrame, placementShared]).toEqual([0, 1]);
  });

  test.each([
    ['failed', bytesOf({ kind: 'failed', batch: 1, code: 'internal', message: 'why' }), 16, decodeFromWorker],
    ['call-failed', bytesOf({ kind: 'call-failed', call: 1, code: 'internal', message: 'why' }), 24, decodeToWorker],
  ] as const)(
    'an error of a %s frame crosses by its number, and an unknown one becomes inference-failed',
    (_kind, frame, at, decode) => {
      const view = new DataView(frame.buffer, frame.byteOffset);
      expect(view.getUint32(at, true)).toBe(24);
      expect(decode(frame, findRegion)).toMatchObject({ code: 'internal', message: 'why' });
      for (const number of [0, 7777]) {
        view.setUint32(at, number, true);
        expect(decode(frame, findRegion)).toMatchObject({
          code: 'inference-failed',
          message: `unknown error number ${number}: why`,
        });
      }
    },
  );
});

describe('what is new to the receiver', () => {
  test.each(toWorker)('fields appended to a $kind frame are ignored by a worker', (frame) => {
    const read = (bytes: Uint8Array) => withoutRegion(decodeToWorker(bytes, findRegion));
    expect(read(withFieldsAppended(bytesOf(frame)))).toEqual(read(bytesOf(frame)));
  });

  test.each(fromWorker)('fields appended to a $kind frame are ignored by a router', (frame) => {
    const read = (bytes: Uint8Array) => withoutRegion(decodeFromWorker(bytes, findRegion));
    expect(read(withFieldsAppended(bytesOf(frame)))).toEqual(read(bytesOf(frame)));
  });

  test('a worker that says nothing of generation is read as before', () => {
    for (const frame of fromWorker) {
      if (!('generation' in frame)) continue;
      const { generation, ...silent } = frame;
      expect(decodeFromWorker(bytesOf(silent), findRegion)).not.toHaveProperty('generation');
      expect(decodeFromWorker(bytesOf(frame), findRegion)).toHaveProperty('generation', generation);
    }
  });

  test('fields are ignored too where the tensors are in shared memory', () => {
    const answered = { kind: 'answered', batch: 1, outputs: tensors, region, runMicros: 2, generation: load } as const;
    const bytes = bytesOf(answered, 64);
    expect(bytes[5]).toBe(placementShared);
    expect(decodeFromWorker(withFieldsAppended(bytes), findRegion)).toEqual(decodeFromWorker(bytes, findRegion));
  });

  test('keys that are new in the JSON of a load are ignored', () => {
    const load = { kind: 'load', spec: { ...spec, isBatched: true, threads: 1, isSpinning: false } } as const;
    const newer = { ...load, spec: { ...load.spec, colour: 'blue' } };
    expect(decodeToWorker(bytesOf(newer), findRegion)).toEqual(load);
  });

  test.each([0, 20, 255])('a frame of kind %i is refused both ways as an UnknownFrameKind', (kind) => {
    const frame = Uint8Array.of(8, 0, 0, 0, kind, 0, 0, 0);
    expect(() => decodeToWorker(frame, findRegion)).toThrow(UnknownFrameKind);
    expect(() => decodeToWorker(frame, findRegion)).toThrow(`no frame of kind ${kind} goes to a worker`);
    expect(() => decodeFromWorker(frame, findRegion)).toThrow(UnknownFrameKind);
    expect(() => decodeFromWorker(frame, findRegion)).toThrow(`no frame of kind ${kind} comes from a worker`);
  });

  test('a frame that ends before its fields do is malformed', () => {
    for (const frame of fromWorker) {
      const short = Uint8Array.from(bytesOf(frame).subarray(0, 8));
      short[0] = 8;
      expect(() => new DispatchFrameReader((bytes) => decodeFromWorker(bytes, findRegion)).push(short)).toThrow(
        MalformedFrame,
      );
    }
  });
});

describe('versions', () => {
  const range = (oldest: number, newest: number): VersionRange => ({ oldest, newest });

  test.each<[VersionRange, VersionRange, number | undefined]>([
    [range(4, 4), range(4, 4), 4],
    [range(4, 6), range(5, 9), 6],
    [range(1, 9), range(4, 4), 4],
    [range(4, 5), range(5, 5), 5],
    [range(4, 4), range(5, 9), undefined],
    [range(4, 9), range(1, 3), undefined],
    // As version 3 said it: one number of 32 bits.
    [range(1, 9), range(3, 0), undefined],
  ])('%o and %o have %s in common, whoever asks', (one, other, version) => {
    expect(takeCommonVersion(one, other)).toBe(version);
    expect(takeCommonVersion(other, one)).toBe(version);
  });

  test('a hello of unsupported versions can still be decoded', () => {
    const other = { ...hello, versions: { oldest: 900, newest: 1000 } };
    expect(decodeToWorker(bytesOf(other), findRegion)).toEqual(other);
    expect(decodeFromWorker(bytesOf(other), findRegion)).toEqual(other);
  });

  test('a hello of a worker that does not say who it is can be decoded, as those before it was asked', () => {
    const { worker: _identity, ...earlier } = hello;
    const bytes = bytesOf(earlier);
    expect(bytes.length).toBe(40);
    expect(decodeFromWorker(bytes, findRegion)).toEqual(earlier);
  });

  test('a mismatch names both ranges and says what to do', () => {
    expect(new VersionMismatch(range(4, 5), range(9, 9)).message).toBe(
      'the worker supports version 9 of the dispatch protocol and the router supports versions 4 to 5: run the worker of the router’s release, or another one that supports versions 4 to 5',
    );
  });

  test('this release supports at least one version', () => {
    expect(takeCommonVersion(dispatchVersions, dispatchVersions)).toBe(dispatchVersions.newest);
  });
});
