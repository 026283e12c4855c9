/** One attached worker and several routers: answers, credit, turns, and the end of a router or of the worker. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { dispatchVersions, FrameWriter, frameBytesMaxDefault, HeapRegion, type LoadSpec } from '@millrace/protocol';
import type { Engine } from '@millrace/worker';
import { WorkerServer } from '@millrace/worker/attached';
import { programs } from 'millrace/internal';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { useAttachedWorkers } from './attached-workers.ts';
import { LinkProbe } from './link-probe.ts';
import { ModelFolder } from './model-folder.ts';
import { int64 } from './tensor-bytes.ts';

const workers = useAttachedWorkers();
const models = new ModelFolder();
const probes: LinkProbe[] = [];
afterAll(() => models.remove());
afterEach(async () => {
  for (const probe of probes.splice(0)) {
    await probe.end();
    expect(probe.violations).toEqual([]);
  }
});

function attach(...socketPaths: readonly string[]): LinkProbe {
  const probe = new LinkProbe(workers.lane(...socketPaths));
  probes.push(probe);
  return probe;
}

const bytes = (...values: readonly number[]) => [{ index: 0, shape: [values.length], data: Uint8Array.from(values) }];
const turns = (count: bigint) => [{ index: 0, shape: [1], data: int64(count) }];

/** An engine whose runs the test ends: each is known by the first byte of its input, which is also its answer. */
function heldEngine() {
  const begun: number[] = [];
  const release = new Map<number, () => void>();
  const counts = { loads: 0, unloads: 0 };
  const engine: Engine = {
    name: 'onnxruntime',
    async load() {
      counts.loads += 1;
      return {
        async run({ inputs, memory }) {
          const id = inputs[0]?.data[0] as number;
          begun.push(id);
          await new Promise<void>((resolve) => release.set(id, resolve));
          const [part = new Uint8Array(0)] = memory.layOut([8]);
          memory.write(0, new Uint8Array(8).fill(id));
          return { outputs: [{ index: 0, shape: [8], data: part }] };
        },
        async unload() {
          counts.unloads += 1;
        },
      };
    },
  };
  const end = async (id: number): Promise<void> => {
    await eventually(`run ${id} has begun`, () => release.has(id));
    release.get(id)?.();
  };
  return { engine, begun, counts, end };
}

const spec = (model: number, changes: Partial<LoadSpec> = {}): LoadSpec => ({
  ...models.identity(model, 4),
  ...changes,
});

describe('a worker with two routers', () => {
  test('answers each router, which may number models and batches as the other does', async () => {
    const { engine, end } = heldEngine();
    const socket = await workers.serve('answers', { engines: [engine] });
    const [one, two] = [attach(socket), attach(socket)];
    await Promise.all([one.load(spec(1)), two.load(spec(1))]);
    const batches = [one.dispatch(1, bytes(11), [0]), two.dispatch(1, bytes(22), [0])] as const;
    expect(batches).toEqual([1, 1]);
    await end(11);
    await end(22);
    expect((await one.answered(1)).outputs[0]?.data[0]).toBe(11);
    expect((await two.answered(1)).outputs[0]?.data[0]).toBe(22);
  });

  test('loads equal content with equal settings once, says so in its greeting, and unloads it with the last router', async () => {
    const { engine, counts } = heldEngine();
    const socket = await workers.serve('shares', { engines: [engine] });
    const [one, two, three] = [attach(socket), attach(socket), attach(socket)];
    await Promise.all([one.load(spec(1)), two.load(spec(7))]);
    expect(counts.loads).toBe(1);
    await three.load(spec(1, { threads: 3 }));
    expect(counts.loads).toBe(2);
    const late = attach(socket);
    await late.until('credit');
    expect(late.link.identity).toMatchObject({ id: 'shares', capacity: 64 });
    expect(late.link.identity?.incarnation).toBe(one.link.identity?.incarnation);
    expect(late.link.identity?.loaded).toEqual([expect.stringMatching(/^sha256:[0-9a-f]{64}$/)]);
    await one.end();
    await three.end();
    await eventually('the other settings are unloaded', () => counts.unloads === 1);
    two.call((link) => link.send({ kind: 'unload', model: 7 }));
    await eventually('all is unloaded', () => counts.unloads === 2);
    await late.load(spec(1));
    expect(counts.loads).toBe(3);
  });

  test('gives each link a lease, all of them together at most its capacity, and a lease that is returned to the next', async () => {
    const { engine } = heldEngine();
    const socket = await workers.serve('leases', { engines: [engine], capacity: 3, linksMax: 2 });
    const [one, two] = [attach(socket), attach(socket)];
    const concurrent = { concurrency: 8 };
    await Promise.all([one.load(spec(1, concurrent)), two.load(spec(1, concurrent))]);
    const credits = [one, two].flatMap(({ received }) =>
      received.flatMap((message) => (message.kind === 'credit' ? [message.batchesMax] : [])),
    );
    expect(credits).toEqual([1, 1]);
    const third = attach(socket);
    expect((await third.until('gone')).reason).toMatch(/the worker refused the link: it has 2 links, its maximum/);
    await one.end();
    await eventually('the lease is free', async () => {
      return attach(socket)
        .until('credit')
        .then(
          () => true,
          () => false,
        );
    });
  });

  test('runs a model of concurrency 1 once at a time, for all of them', async () => {
    const { engine, begun, end } = heldEngine();
    const socket = await workers.serve('concurrency', { engines: [engine] });
    const [one, two] = [attach(socket), attach(socket)];
    await Promise.all([one, two].map((probe) => probe.load(spec(1, { concurrency: 1 }))));
    const batches = [one.dispatch(1, bytes(1), [0]), two.dispatch(1, bytes(2), [0])] as const;
    await eventually('one runs', () => begun.length > 0);
    // The other's load is answered, so its batch, which was sent before, has arrived and waits.
    const waiting = begun[0] === 1 ? two : one;
    await waiting.load(spec(9, { threads: 9 }));
    expect(begun).toHaveLength(1);
    await end(begun[0] as number);
    await eventually('the other runs', () => begun.length === 2);
    await end(begun[1] as number);
    await Promise.all([one.answered(batches[0]), two.answered(batches[1])]);
  });

  test('cuts off a router that sends more than its credit, and the other is not affected', async () => {
    const { engine, end } = heldEngine();
    const socket = await workers.serve('credit', { engines: [engine] });
    const [greedy, other] = [attach(socket), attach(socket)];
    await Promise.all([greedy.load(spec(1)), other.load(spec(1))]);
    for (const id of [1, 2, 3]) greedy.dispatch(1, bytes(id), [0]);
    await greedy.until('gone');
    const batch = other.dispatch(1, bytes(9), [0]);
    await end(1);
    await end(9);
    await other.answered(batch);
  });

  test('drops what a router that left has waiting, and does not answer what runs', async () => {
    const { engine, begun, end, counts } = heldEngine();
    const events: string[] = [];
    const socket = await workers.serve('drops', { engines: [engine], onEvent: (text) => events.push(text) });
    const [leaving, other] = [attach(socket), attach(socket)];
    await Promise.all([leaving.load(spec(1)), other.load(spec(1))]);
    leaving.dispatch(1, bytes(1), [0]);
    leaving.dispatch(1, bytes(2), [0]);
    await eventually('the first runs', () => begun.length === 1);
    await leaving.end();
    await eventually('the worker knows', () => events.includes('router left: it closed the connection'));
    const batch = other.dispatch(1, bytes(3), [0]);
    await end(1);
    await end(3);
    await other.answered(batch);
    expect(begun).toEqual([1, 3]);
    expect(counts.unloads).toBe(0);
  });

  test('cuts off a router that does not read its answers', async () => {
    const echo: Engine = {
      name: 'onnxruntime',
      load: async () => ({
        async run({ memory }) {
          const [part = new Uint8Array(0)] = memory.layOut([2 ** 20]);
          memory.write(0, new Uint8Array(2 ** 20).fill(1));
          return { outputs: [{ index: 0, shape: [2 ** 20], data: part }] };
        },
        async unload() {},
      }),
    };
    const events: string[] = [];
    const unsentBytesMax = 3 * 2 ** 20;
    const path = await workers.serve('unread', {
      engines: [echo],
      unsentBytesMax,
      onEvent: (text) => events.push(text),
    });
    const other = attach(path);
    await other.load(spec(1));
    const socket = connect(path).pause();
    socket.on('error', () => {});
    const send = (...frames: Parameters<FrameWriter['append']>[0][]): void => {
      const writer = new FrameWriter();
      for (const frame of frames) writer.append(frame);
      socket.write(writer.takeBytes());
    };
    const sizes = { toWorkerBytes: 0, toRouterBytes: 0, frameBytesMax: frameBytesMaxDefault };
    send({ kind: 'hello', versions: dispatchVersions, ...sizes }, { kind: 'load', spec: spec(1) });
    const region = new HeapRegion(new Uint8Array(0));
    for (let batch = 1; batch <= 100 && !events.some((text) => /does not read/.test(text)); batch++) {
      send({ kind: 'dispatch', batch, model: 1, inputs: [], outputs: [0], region });
      // An answer of the other's shows that the worker has gone on; and it is never behind by more than one batch.
      await other.answered(other.dispatch(1, bytes(1), [0]));
    }
    expect(events.at(-1) ?? '').toMatch(
      /router left: the router does not read its answers: \d+ bytes are unsent, at most 3145728/,
    );
    await other.answered(other.dispatch(1, bytes(1), [0]));
    socket.destroy();
  });

  test('ends when it is told to, after it has answered what it was sent', async () => {
    const { engine, begun, end } = heldEngine();
    const socketPath = workers.socketPath('stops');
    const options = { capacity: 4, linksMax: 2, unsentBytesMax: 2 ** 20, onEvent: () => {} };
    const server = await WorkerServer.open({ engines: [engine], socketPath, id: 'stops', ...options });
    const probe = attach(socketPath);
    await probe.load(spec(1));
    const batch = probe.dispatch(1, bytes(1), [0]);
    await eventually('it runs', () => begun.length === 1);
    const stopped = server.stop();
    await end(1);
    await probe.answered(batch);
    expect((await probe.until('gone')).reason).toBe(`the link to the worker at ${socketPath} ended`);
    await stopped;
    expect((await attach(socketPath).until('gone')).reason).toMatch(/ENOENT|ECONNREFUSED/);
  });
});

/** A router in a process of its own: prints a line when it has loaded the model and sent batches. */
async function startRouter(socketPath: string, load: LoadSpec, count: bigint): Promise<ChildProcess> {
  const url = (path: string): string => JSON.stringify(new URL(`../../packages/${path}`, import.meta.url).href);
  const script = `
    import { createAttachedLane } from ${url('router/dist/internal.js')};
    import { contentOf, FileDigests } from ${url('worker/dist/content/index.js')};
    const digests = new FileDigests();
    const describeContent = (spec) => contentOf(spec, digests);
    const link = createAttachedLane({ socketPaths: [${JSON.stringify(socketPath)}], describeContent }).open((message) => {
      if (message.kind === 'gone') throw new Error(message.reason);
      if (message.kind !== 'ready') return;
      for (const batch of [1, 2]) {
        const region = link.lend(8);
        new BigInt64Array(region.bytes.buffer, region.bytes.byteOffset, 1)[0] = ${count}n;
        link.send({ kind: 'dispatch', batch, model: 1, inputs: [{ index: 0, shape: [1], data: region.bytes }], outputs: [0], region });
      }
      setImmediate(() => console.log('sent'));
    });
    link.send({ kind: 'load', spec: ${JSON.stringify(load)} });`;
  const router = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => createInterface(router.stdout as NodeJS.ReadableStream).once('line', resolve));
  return router;
}

describe('a worker process that routers share', () => {
  test('goes on for one router when another is killed', async () => {
    const { socketPath, process: worker } = await workers.start('killed-router');
    const probe = attach(socketPath);
    await probe.load(models.counting(1));
    const router = await startRouter(socketPath, models.counting(1), 20_000n);
    router.kill('SIGKILL');
    for (let round = 1n; round <= 20n; round++) {
      const answer = await probe.answered(probe.dispatch(1, turns(round), [0]));
      expect([...(answer.outputs[0]?.data ?? [])]).toEqual([...int64(round)]);
      answer.region.release();
    }
    expect(worker.exitCode).toBe(null);
    expect(probe.received.some(({ kind }) => kind === 'gone')).toBe(false);
  });

  test('that is killed is gone on every link, and what it held is released', async () => {
    const { socketPath, process: worker } = await workers.start('killed-worker');
    const [one, two] = [attach(socketPath), attach(socketPath)];
    await Promise.all([one.load(models.counting(1)), two.load(models.counting(1))]);
    let released = 0;
    for (const probe of [one, two]) probe.dispatch(1, turns(100_000_000_000n), [0], () => released++);
    worker.kill('SIGKILL');
    for (const probe of [one, two]) {
      expect((await probe.until('gone')).reason).toMatch(/the link to the worker at .*killed-worker ended/);
    }
    expect(released).toBe(2);
    expect(one.link.pid).toBeUndefined();
  });

  test('replaces the socket of one that was killed, with a new incarnation under the same name', async () => {
    const first = await workers.start('again', '--id', 'gpu-3');
    const before = attach(first.socketPath);
    await before.until('credit');
    first.process.kill('SIGKILL');
    await before.until('gone');
    await once(first.process, 'exit').catch(() => {});
    const second = await workers.start('again', '--id', 'gpu-3');
    const after = attach(second.socketPath);
    await after.until('credit');
    expect(after.link.identity?.id).toBe('gpu-3');
    expect(before.link.identity?.id).toBe('gpu-3');
    expect(after.link.identity?.incarnation).not.toBe(before.link.identity?.incarnation);
  });

  test('stops by SIGTERM', async () => {
    const { socketPath, process: worker } = await workers.start('terminated');
    const probe = attach(socketPath);
    await probe.load(models.counting(1));
    const exited = once(worker, 'exit');
    worker.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    await probe.until('gone');
  });

  test.each([
    [[], /--socket is missing/],
    [['--socket', '/tmp/x/y', '--capacity', 'many'], /--capacity is "many"; it must be a whole number/],
    [['--socket', '/tmp/x/y', '--capacity', '1'], /--capacity is 1; it must be at least --links-max, 16/],
    [['--socket', '/tmp/x/y', '--colour', 'blue'], /colour/],
  ])('refuses wrong arguments: %j', async (args, message) => {
    const child = spawn(process.execPath, [programs.attachedWorker, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
    let text = '';
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    expect(await once(child, 'close')).toEqual([2, null]);
    expect(text).toMatch(message);
  });
});

describe('the socket of a worker', () => {
  const open = (socketPath: string): Promise<WorkerServer> =>
    WorkerServer.open({
      engines: [],
      socketPath,
      id: 'w',
      capacity: 1,
      linksMax: 1,
      unsentBytesMax: 1,
      onEvent: () => {},
    });

  test('has mode 600 in a folder of mode 700', async () => {
    const path = workers.socketPath('modes/deep/socket');
    const server = await open(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    await server.stop();
  });

  test('is refused in a folder that others may enter, in use by another, or where a file is', async () => {
    const shared = workers.socketPath('shared');
    mkdirSync(shared);
    chmodSync(shared, 0o755);
    await expect(open(join(shared, 'socket'))).rejects.toThrow(/must be of user \d+ with mode 700; .* with mode 755/);
    const used = workers.socketPath('used');
    const server = await open(used);
    await expect(open(used)).rejects.toThrow(/another worker listens on/);
    await server.stop();
    const file = workers.socketPath('file');
    writeFileSync(file, '');
    await expect(open(file)).rejects.toThrow(/exists and is not a socket/);
    await expect(open(workers.socketPath('x'.repeat(200)))).rejects.toThrow(/at most 107 are allowed/);
  });

  test('of something else than a worker is left', async () => {
    const path = workers.socketPath('impostor');
    const taken: Socket[] = [];
    const server = createServer((socket) => taken.push(socket.on('error', () => {})));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    const probe = attach(path);
    await eventually('it is connected', () => taken.length === 1);
    taken[0]?.write('hello, world! hello, world!');
    expect((await probe.until('gone')).reason).toMatch(/it broke the protocol and the link was closed/);
    server.close();
  });
});
