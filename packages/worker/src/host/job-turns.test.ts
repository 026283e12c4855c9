import { HeapRegion, type WorkerMessage } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { Engine } from '../engine.ts';
import { fakeLoadSpec } from '../testing/fake-load-spec.ts';
import { JobTurns } from './job-turns.ts';
import { EngineSessions } from './sessions.ts';
import { WorkerHost } from './worker-host.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Two links of one worker, whose runs end when the test says so. */
function linksUnderTest() {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const engine: Engine = {
    name: 'onnxruntime',
    load: async () => ({
      async run({ inputs, memory }) {
        const id = inputs[0]?.data[0] as number;
        begun.push(id);
        await new Promise<void>((resolve) => ends.set(id, resolve));
        const [data = new Uint8Array(0)] = memory.layOut([8]);
        memory.write(0, new Uint8Array(8));
        return { outputs: [{ index: 0, shape: [8], data }] };
      },
      async unload() {},
    }),
  };
  const turns = new JobTurns();
  const open = () => {
    const sent: WorkerMessage[] = [];
    const host = new WorkerHost({
      sessions: new EngineSessions([engine]),
      batchesMax: 4,
      turns,
      now: () => 0,
      processorMs: () => 0,
      residentBytes: () => 0,
      sentinelSeed: 1,
      lend: (bytes) => new HeapRegion(new Uint8Array(bytes)),
      send: (message) => void sent.push(message),
    });
    const inputs = (id: number) => [{ index: 0, shape: [1], data: Uint8Array.of(id) }];
    const dispatch = (id: number): void => {
      const region = new HeapRegion(new Uint8Array(0));
      host.receive({ kind: 'dispatch', batch: id, model: 1, inputs: inputs(id), outputs: [0], region });
    };
    host.receive({ kind: 'load', spec });
    return { host, sent, dispatch };
  };
  const until = async (isSo: () => boolean): Promise<void> => {
    for (let turns = 0; turns < 100 && !isSo(); turns++) await turn();
    expect(isSo()).toBe(true);
  };
  const end = async (id: number): Promise<void> => {
    await until(() => ends.has(id));
    ends.get(id)?.();
  };
  return { begun, open, end, until };
}

const spec = fakeLoadSpec;

test('links run their batches in turns, one at a time, however many one of them has', async () => {
  const { begun, open, end, until } = linksUnderTest();
  const [one, two] = [open(), open()];
  await until(() => one.sent.length === 1 && two.sent.length === 1);
  for (const id of [11, 12, 13]) one.dispatch(id);
  await until(() => begun.length === 1);
  for (const id of [21, 22]) two.dispatch(id);
  for (const id of [11, 21, 12, 22, 13]) {
    await until(() => begun.at(-1) === id);
    await end(id);
  }
  await until(() => one.sent.length === 4 && two.sent.length === 3);
  expect(begun).toEqual([11, 21, 12, 22, 13]);
});

test('a link takes its turn behind the run of another, and does not keep it for a load', async () => {
  const { begun, open, end, until } = linksUnderTest();
  const one = open();
  await until(() => one.sent.length === 1);
  one.dispatch(1);
  await until(() => begun.length === 1);
  const two = open();
  one.dispatch(2);
  await end(1);
  await until(() => two.sent.length === 1 && begun.length === 2);
  await end(2);
  await until(() => one.sent.length === 3);
});

test('a batch that is cancelled while its link waits for a turn is skipped, and a link that left begins none', async () => {
  const { begun, open, end, until } = linksUnderTest();
  const [one, two, three] = [open(), open(), open()];
  await until(() => [one, two, three].every(({ sent }) => sent.length === 1));
  one.dispatch(1);
  await until(() => begun.length === 1);
  two.dispatch(2);
  two.host.receive({ kind: 'cancel', batch: 2 });
  three.dispatch(3);
  three.host.close();
  await end(1);
  await until(() => two.sent.length === 2);
  expect(two.sent[1]).toMatchObject({ kind: 'failed', code: 'cancelled' });
  expect(three.sent).toHaveLength(1);
  expect(begun).toEqual([1]);
});
