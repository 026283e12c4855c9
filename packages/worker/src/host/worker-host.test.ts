import { HeapRegion, InferenceError, type WorkerMessage } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { type Engine, ProcessSpoiled, type RunRequest, type RunResult, UnloadableModel } from '../engine.ts';
import { fakeLoadSpec } from '../testing/fake-load-spec.ts';
import { silentEngine } from '../testing/silent-engine.ts';
import { EngineSessions } from './sessions.ts';
import { WorkerHost } from './worker-host.ts';

const spec = fakeLoadSpec;

/** A host with an engine whose runs end when the test says so. */
function hostUnderTest(load: Engine['load'] = async () => session()) {
  const sent: WorkerMessage[] = [];
  const runs: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const released: number[] = [];
  let unloads = 0;
  let time = 0;
  let waiting: { count: number; resolve: () => void } | undefined;
  function session() {
    return {
      run(request: RunRequest): Promise<RunResult> {
        return new Promise((resolve, reject) => {
          const [data = new Uint8Array(0)] = request.memory.layOut([8]);
          runs.push({
            resolve: () => {
              request.memory.write(0, new Uint8Array(8).fill(1));
              resolve({ outputs: [{ index: 0, shape: [8], data }] });
            },
            reject,
          });
        });
      },
      async unload() {
        unloads++;
      },
    };
  }
  const host = new WorkerHost({
    sessions: new EngineSessions([
      { name: 'onnxruntime', load: (given) => (given.path === 'session' ? Promise.resolve(session()) : load(given)) },
    ]),
    batchesMax: 2,
    now: () => time++,
    residentBytes: () => 1234,
    processorMs: () => 5,
    sentinelSeed: 1,
    lend: (bytes) => {
      const region = new HeapRegion(new Uint8Array(bytes));
      return {
        bytes: region.bytes,
        release() {
          region.release();
          released.push(bytes);
        },
      };
    },
    send(message) {
      sent.push(message);
      if (waiting !== undefined && sent.length >= waiting.count) waiting.resolve();
    },
  });
  return {
    host,
    sent,
    runs,
    released,
    unloads: () => unloads,
    dispatch: (batch: number, model = 1, values: readonly number[] = []) =>
      host.receive({
        kind: 'dispatch',
        batch,
        model,
        inputs: [{ index: 0, shape: [values.length], data: Uint8Array.from(values) }],
        outputs: [0],
        region: new HeapRegion(new Uint8Array(0)),
      }),
    untilSent: (count: number) =>
      new Promise<void>((resolve) => {
        if (sent.length >= count) resolve();
        else waiting = { count, resolve };
      }),
    turn: () => new Promise((resolve) => setImmediate(resolve)),
  };
}

const loaded = { ...spec, path: 'session' };

describe('WorkerHost', () => {
  test('sends nothing from inside a call', async () => {
    const { host, sent, dispatch, untilSent } = hostUnderTest();
    host.start();
    dispatch(1, 99);
    expect(sent).toEqual([]);
    await untilSent(2);
    expect(sent).toMatchObject([
      { kind: 'credit', batchesMax: 2 },
      { kind: 'failed', code: 'unknown-model' },
    ]);
  });

  test('reports a load with its time and memory', async () => {
    const { host, sent, untilSent } = hostUnderTest();
    host.receive({ kind: 'load', spec: loaded });
    await untilSent(1);
    expect(sent).toEqual([
      { kind: 'ready', model: 1, loadMs: 1, residentBytes: 1234, cost: { addedBytes: 0, processorMs: 0 } },
    ]);
  });

  test('answers a run that spoils the process, where the process is shared', async () => {
    const { host, sent, runs, dispatch, untilSent, turn } = hostUnderTest();
    host.receive({ kind: 'load', spec: loaded });
    dispatch(1);
    await turn();
    runs[0]?.reject(new ProcessSpoiled('the device is lost'));
    await untilSent(2);
    expect(sent[1]).toMatchObject({ kind: 'failed', code: 'inference-failed', message: 'the device is lost' });
  });

  test('runs one batch at a time', async () => {
    const { host, sent, runs, dispatch, untilSent, turn } = hostUnderTest();
    host.receive({ kind: 'load', spec: loaded });
    dispatch(1);
    dispatch(2);
    await turn();
    expect(runs.length).toBe(1);
    runs[0]?.resolve();
    await untilSent(2);
    await turn();
    expect(runs.length).toBe(2);
    runs[1]?.resolve();
    await untilSent(3);
    expect(sent.slice(1)).toMatchObject([
      { kind: 'answered', batch: 1, runMicros: 1000 },
      { kind: 'answered', batch: 2, runMicros: 1000 },
    ]);
  });

  test.each([
    ['unsupported', 'unsupported'],
    ['inference-failed', 'inference-failed'],
    ['invalid-request', 'inference-failed'],
  ] as const)('a run that rejects with %s fails its batch with %s', async (thrown, told) => {
    const { host, sent, runs, dispatch, untilSent, turn } = hostUnderTest();
    host.receive({ kind: 'load', spec: loaded });
    dispatch(1);
    await turn();
    runs[0]?.reject(new InferenceError(thrown, 'because'));
    await untilSent(2);
    expect(sent[1]).toEqual({ kind: 'failed', batch: 1, code: told, message: 'because' });
  });

  test('a run that throws a plain error fails its batch with inference-failed, and the next one runs', async () => {
    const { host, sent, runs, released, dispatch, untilSent, turn } = hostUnderTest();
    host.receive({ kind: 'load', spec: loaded });
    dispatch(1);
    dispatch(2);
    await turn();
    runs[0]?.reject(new RangeError('Invalid typed array length: -3'));
    await untilSent(2);
    await turn();
    runs[1]?.resolve();
    await untilSent(3);
    expect(sent.slice(1)).toMatchObject([
      { kind: 'failed', batch: 1, code: 'inference-failed', message: 'Invalid typed array length: -3' },
      { kind: 'answered', batch: 2 },
    ]);
    expect(released).toEqual([8]);
  });

  test('a run that leaves its output unwritten fails its batch, and its memory is released', async () => {
    const { host, sent, released, dispatch, untilSent } = hostUnderTest(() => silentEngine.load(spec));
    host.receive({ kind: 'load', spec });
    dispatch(1, 1, [1, 2, 3, 4, 5, 6, 7, 8]);
    await untilSent(2);
    dispatch(2, 1, [0, 0, 0, 0, 0, 0, 0, 0]);
    await untilSent(3);
    expect(sent.slice(1)).toMatchObject([
      { kind: 'answered', batch: 1 },
      {
        kind: 'failed',
        batch: 2,
        code: 'inference-failed',
        message: expect.stringMatching(/output 0 was not written/),
      },
    ]);
    expect(released).toEqual([8]);
  });

  test('a batch frees its credit before its answer is sent, so that the next may be sent at once', async () => {
    const { host, runs, dispatch, untilSent, turn } = hostUnderTest();
    host.receive({ kind: 'load', spec: loaded });
    dispatch(1);
    dispatch(2);
    expect(() => dispatch(3)).toThrow(/more than the 2 batches it had credit for/);
    await turn();
    runs[0]?.resolve();
    await untilSent(2);
    expect(() => dispatch(4)).toThrow(/credit/);
  });

  test('finish waits until everything received is done', async () => {
    const { host, sent, runs, dispatch, turn } = hostUnderTest();
    host.receive({ kind: 'load', spec: loaded });
    dispatch(1);
    let isFinished = false;
    host.finish(() => {
      isFinished = true;
    });
    await turn();
    expect(isFinished).toBe(false);
    runs[0]?.resolve();
    await turn();
    expect(isFinished).toBe(true);
    expect(sent.at(-1)?.kind).toBe('answered');
  });

  test('a closed host sends nothing, releases the memory of its run, and unloads its models', async () => {
    const { host, sent, runs, released, unloads, dispatch, turn } = hostUnderTest();
    host.receive({ kind: 'load', spec: loaded });
    dispatch(1);
    dispatch(2);
    await turn();
    host.close();
    host.close();
    runs[0]?.resolve();
    await turn();
    dispatch(3);
    await turn();
    expect(sent.map(({ kind }) => kind)).toEqual(['ready']);
    expect(runs.length).toBe(1);
    expect(released).toEqual([8]);
    expect(unloads()).toBe(1);
  });

  test('a failed load says why, and an unknown engine is named', async () => {
    const { host, sent, untilSent } = hostUnderTest(async () => {
      throw new Error('no such file');
    });
    host.receive({ kind: 'load', spec });
    await untilSent(1);
    expect(sent).toEqual([{ kind: 'load-failed', model: 1, message: 'no such file' }]);
  });

  test('a model that does not fit its configuration fails its load with isFinal', async () => {
    const { host, sent, untilSent } = hostUnderTest(async () => {
      throw new UnloadableModel('no input "x"');
    });
    host.receive({ kind: 'load', spec });
    await untilSent(1);
    expect(sent).toEqual([{ kind: 'load-failed', model: 1, message: 'no input "x"', isFinal: true }]);
  });
});
