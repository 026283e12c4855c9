import {
  DispatchFrameReader,
  decodeFromWorker,
  dispatchVersions,
  type FrameFromWorker,
  type FrameToWorker,
  FrameWriter,
  frameBytesMaxDefault,
  type HelloFrame,
  MalformedFrame,
} from '@millrace/protocol';
import { expect, test } from 'vitest';
import { RouterLink } from './router-link.ts';
import type { RouterWire, WireListener } from './router-wire.ts';
import { EngineSessions } from './sessions.ts';

const identity = { id: 'gpu-3', incarnation: 'f00d', capacity: 2, loaded: [] };

/** A link with the test as its router. */
function linkUnderTest() {
  const said: FrameFromWorker[] = [];
  const reader = new DispatchFrameReader((frame) => said.push(decodeFromWorker(frame, () => undefined)));
  let listener: WireListener | undefined;
  const wire: RouterWire = {
    open(opened) {
      listener = opened;
    },
    write(bytes) {
      reader.push(Uint8Array.from(bytes));
      return true;
    },
    listen() {},
    rest() {},
    end: (onEnded) => onEnded(),
  };
  const mapped: number[] = [];
  const takeMapping = (bytes: number): undefined => void mapped.push(bytes);
  const identify = () => identity;
  new RouterLink({ wire, sessions: new EngineSessions([]), identify, takeMapping, onStopped() {}, onEnded() {} });
  const hear = async (frame: FrameToWorker): Promise<void> => {
    const writer = new FrameWriter();
    writer.append(frame);
    listener?.receive(writer.takeBytes());
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { said, mapped, hear };
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
