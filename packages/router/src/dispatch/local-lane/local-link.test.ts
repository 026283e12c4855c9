import {
  DispatchFrameReader,
  decodeToWorker,
  dispatchVersions,
  type FrameFromWorker,
  type FrameToWorker,
  FrameWriter,
  type FromWorker,
  frameBytesMaxDefault,
  type Region,
} from '@millrace/protocol';
import { MappingPool } from '@millrace/shared-memory';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { ChannelListener, WorkerSource } from '../worker-source.ts';
import { LocalLink } from './local-link.ts';
import { releaseMsMax } from './output-releases.ts';

const halfBytes = 65_536;

/** A link to a worker that says what the test has it say. */
function linkUnderTest() {
  const heard: FrameToWorker[] = [];
  const received: FromWorker[] = [];
  const inputs = (_offset: number, bytes: number): Region => ({ bytes: new Uint8Array(bytes), release: () => {} });
  const reader = new DispatchFrameReader((frame) => heard.push(decodeToWorker(frame, inputs)));
  let listener: ChannelListener | undefined;
  const source: WorkerSource = {
    life: 'started',
    open(opened) {
      listener = opened;
      return {
        pid: undefined,
        write: (bytes) => {
          reader.push(Uint8Array.from(bytes));
          return true;
        },
        kill: () => {},
      };
    },
  };
  const link = new LocalLink(source, { sharedMemoryBytesMax: 2 * halfBytes }, new MappingPool(), (message) =>
    received.push(message),
  );
  const say = (frame: FrameFromWorker, sharedOffset?: number): void => {
    const writer = new FrameWriter();
    writer.append(frame, sharedOffset);
    listener?.onData(writer.takeBytes());
  };
  say({
    kind: 'hello',
    versions: dispatchVersions,
    toWorkerBytes: halfBytes,
    toRouterBytes: halfBytes,
    frameBytesMax: frameBytesMaxDefault,
  });
  /** A batch whose only output is in shared memory. */
  const run = (batch: number, offset: number): Region => {
    const bytes = new Uint8Array(8192);
    link.send({ kind: 'dispatch', batch, model: 1, inputs: [], outputs: [0], region: link.lend(0) });
    const outputs = [{ index: 0, shape: [bytes.length], data: bytes }];
    say({ kind: 'answered', batch, outputs, region: { bytes, release: () => {} }, runMicros: 1 }, offset);
    const answer = received.at(-1);
    if (answer?.kind !== 'answered') throw new Error(`the batch was not answered: ${answer?.kind}`);
    return answer.region;
  };
  const releases = (): readonly (readonly number[])[] =>
    heard.flatMap((frame) => (frame.kind === 'release' ? [frame.offsets] : []));
  const end = (): void => listener?.onEnd('the test ends');
  return { run, releases, end };
}

describe.runIf(process.platform === 'linux')('releases of outputs', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('reach a worker that gets nothing else to do, together and after a while', () => {
    const { run, releases, end } = linkUnderTest();
    const [first, second] = [run(1, 0), run(2, 8192)];
    vi.runAllTicks();
    first.release();
    second.release();
    vi.advanceTimersByTime(releaseMsMax - 1);
    expect(releases()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(releases()).toEqual([[0, 8192]]);
    vi.advanceTimersByTime(2 * releaseMsMax);
    expect(releases()).toHaveLength(1);
    end();
  });

  test('are not waited for any more when the worker is gone', () => {
    const { run, releases, end } = linkUnderTest();
    run(1, 0).release();
    // Unused pages are looked for as well.
    expect(vi.getTimerCount()).toBe(2);
    end();
    expect(vi.getTimerCount()).toBe(0);
    expect(releases()).toEqual([]);
  });
});
