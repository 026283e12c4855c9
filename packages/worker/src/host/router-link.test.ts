import {
  DispatchFrameReader,
  decodeFromWorker,
  dispatchVersions,
  type FrameFromWorker,
  type FrameToWorker,
  FrameWriter,
  frameBytesMaxDefault,
  type HelloFrame,
  type LoadSpec,
  MalformedFrame,
} from '@millrace/protocol';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Engine } from '../engine.ts';
import { RouterLink } from './router-link.ts';
import type { RouterWire, WireListener } from './router-wire.ts';
import { EngineSessions } from './sessions.ts';

const identity = { id: 'gpu-3', incarnation: 'f00d', capacity: 2, loaded: [] };

/** A link with the test as its router. */
function linkUnderTest(engines: readonly Engine[] = []) {
  const writes: number[] = [];
  const said: FrameFromWorker[] = [];
  const reader = new DispatchFrameReader((frame) => said.push(decodeFromWorker(frame, () => undefined)));
  let listener: WireListener | undefined;
  const wire: RouterWire = {
    open(opened) {
      listener = opened;
    },
    write(bytes) {
      const before = said.length;
      reader.push(Uint8Array.from(bytes));
      writes.push(said.length - before);
      return true;
    },
    listen() {},
    rest() {},
    end: (onEnded) => onEnded(),
  };
  const mapped: number[] = [];
  const takeMapping = (bytes: number): undefined => void mapped.push(bytes);
  const identify = () => identity;
  new RouterLink({ wire, sessions: new EngineSessions(engines), identify, takeMapping, onStopped() {}, onEnded() {} });
  const hear = async (frame: FrameToWorker): Promise<void> => {
    const writer = new FrameWriter();
    writer.append(frame);
    listener?.receive(writer.takeBytes());
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { said, writes, mapped, hear };
}

const greeting = (oldest: number, newest: number): HelloFrame => ({
  kind: 'hello',
  versions: { oldest, newest },
  toWorkerBytes: 4096,
  toRouterBytes: 4096,
  frameBytesMax: frameBytesMaxDefault,
});
const own = { kind: 'hello', versions: dispatchVersions, frameBytesMax: frameBytesMaxDefault, worker: identity };
const { oldest, newest } = dispatchVersions;

test('a router with a common version gets a hello and credit', async () => {
  const { said, mapped, hear } = linkUnderTest();
  await hear(greeting(oldest - 1, newest + 7));
  expect(said).toMatchObject([own, { kind: 'credit' }]);
  expect(mapped).toEqual([8192]);
});

test('a router without a common version gets the versions of the worker, and nothing else', async () => {
  const { said, mapped, hear } = linkUnderTest();
  await hear(greeting(newest + 1, newest + 7));
  expect(said).toMatchObject([own]);
  expect(mapped).toEqual([]);
  await expect(hear({ kind: 'stop' })).rejects.toThrow(MalformedFrame);
});

test('a router whose first frame is no hello is refused', async () => {
  const { hear } = linkUnderTest();
  await expect(hear({ kind: 'stop' })).rejects.toThrow(/the first frame is a stop, not a hello/);
});

/** Gives so many answers to a request, one right after the other, each this much later by the clock. */
function counterOf(answers: number, stepMs: number): Engine {
  let now = 1000;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  return {
    name: 'pipeline',
    load: async () => ({
      run: () => Promise.reject(new Error('it is decoupled')),
      begin: () => {
        let given = 0;
        return {
          step: async (memory) => {
            if (given === answers) return undefined;
            given += 1;
            now += stepMs;
            const [data] = memory.layOut([1]) as [Uint8Array];
            memory.write(0, Uint8Array.of(given));
            return { outputs: [{ index: 0, shape: [1], data }] };
          },
          end: () => {},
        };
      },
      unload: async () => {},
    }),
  };
}

const plainSpec: LoadSpec = {
  model: 1,
  name: 'counter',
  version: '1',
  engine: 'pipeline',
  path: '',
  inputs: [],
  outputs: [{ name: 'number', datatype: 'UINT8', shape: [1] }],
  isBatched: false,
  threads: 1,
  isSpinning: false,
};
const region = { bytes: new Uint8Array(0), release: () => {} };

describe('answers that follow each other without a wait', () => {
  afterEach(() => vi.restoreAllMocks());

  const spec: LoadSpec = { ...plainSpec, concurrency: 1, isDecoupled: true };

  test.each([
    ['share a write, all but the first', 0, [1, 9]],
    ['have a write each where every one took long to make', 2, Array.from({ length: 10 }, () => 1)],
  ])('%s', async (_, stepMs, expected) => {
    const { said, writes, hear } = linkUnderTest([counterOf(10, stepMs)]);
    await hear(greeting(oldest, newest));
    await hear({ kind: 'load', spec });
    await hear({ kind: 'dispatch', batch: 5, model: 1, inputs: [], outputs: [0], region });
    const before = writes.length;
    await hear({ kind: 'grant', batch: 5, answers: 10 });
    await new Promise((resolve) => setImmediate(resolve));
    expect(writes.slice(before)).toEqual(expected);
    const answers = said.filter(({ kind }) => kind === 'partial-answer');
    expect(answers.map((answer) => 'sequence' in answer && answer.sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });
});

test('outputs that no message can hold are refused before memory is taken for them', async () => {
  let refusal: unknown;
  const engine: Engine = {
    name: 'pipeline',
    load: async () => ({
      run: async ({ memory }) => {
        try {
          memory.layOut([frameBytesMaxDefault + 8]);
        } catch (error) {
          refusal = error;
          throw error;
        }
        return { outputs: [] };
      },
      unload: async () => {},
    }),
  };
  const { said, hear } = linkUnderTest([engine]);
  await hear(greeting(oldest, newest));
  await hear({ kind: 'load', spec: plainSpec });
  await hear({ kind: 'dispatch', batch: 1, model: 1, inputs: [], outputs: [0], region });
  const message =
    'the answer of 1073741832 bytes exceeds the longest message to the router, 1073741824 bytes; send fewer rows in a request';
  expect(refusal).toMatchObject({ code: 'unsupported', message });
  expect(said.at(-1)).toMatchObject({ kind: 'failed', batch: 1, code: 'unsupported', message });
});
