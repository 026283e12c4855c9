/** What only the local lane has: processes that die, memory that is shared, and a router that can be killed. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type AnsweredMessage, FrameWriter, type FromWorker, type Lane, type Region } from '@millrace/protocol';
import { createLocalLane, type LocalLaneOptions } from '@millrace/router';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LinkProbe } from './link-probe.ts';
import { ModelFolder } from './model-folder.ts';
import { int64 } from './tensor-bytes.ts';
import { mustFindWorker } from './worker-path.ts';

const halfBytes = 2 ** 20;
const probes: LinkProbe[] = [];
let models: ModelFolder;
let folder: string;

beforeAll(() => {
  models = new ModelFolder();
  folder = mkdtempSync(join(tmpdir(), 'millrace-local-'));
});
afterAll(() => {
  models.remove();
  rmSync(folder, { recursive: true });
});
afterEach(async () => {
  for (const probe of probes.splice(0)) {
    await probe.end();
    expect(probe.violations).toEqual([]);
  }
});

function lane(options: Partial<LocalLaneOptions> = {}): Lane {
  return createLocalLane({ workerPath: mustFindWorker(), sharedMemoryBytesMax: 2 * halfBytes, ...options });
}

function open(options: Partial<LocalLaneOptions> = {}): LinkProbe {
  const probe = new LinkProbe(lane(options));
  probes.push(probe);
  return probe;
}

/** A program in the place of the worker, with `socket` and `write(frames as hexadecimal)` at hand. */
function impostor(name: string, body: string): string {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(
    path,
    `import { Socket } from 'node:net';
     const socket = new Socket({ fd: 3, readable: true, writable: true });
     const write = (hexadecimal) => socket.write(Buffer.from(hexadecimal, 'hex'));
     socket.on('error', () => {});
     ${body}`,
  );
  return path;
}

function hexadecimal(...frames: Parameters<FrameWriter['append']>[0][]): string {
  const writer = new FrameWriter();
  for (const frame of frames) writer.append(frame);
  return Buffer.from(writer.takeBytes()).toString('hex');
}

const hello = { kind: 'hello', toWorkerBytes: 0, toRouterBytes: 0, frameBytesMax: 16_384 } as const;
const columns = 25_000;
const input = (fill: number) => [{ index: 0, shape: [1, columns], data: new Uint8Array(4 * columns).fill(fill) }];
const isShared = (region: Region): boolean => region.bytes.buffer.byteLength === 2 * halfBytes;

describe('shared memory', () => {
  test('large inputs and outputs lie in it, small ones travel in the message', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    await probe.load(models.identity(2, 4));
    expect(isShared(probe.link.lend(16))).toBe(false);
    const region = probe.link.lend(100_000);
    expect(isShared(region)).toBe(true);
    region.release();
    const large = await probe.answered(probe.dispatch(1, input(3), [0]));
    expect(isShared(large.region)).toBe(true);
    const small = await probe.answered(probe.dispatch(2, [{ index: 0, shape: [1, 4], data: new Uint8Array(16) }], [0]));
    expect(isShared(small.region)).toBe(false);
  });

  test('without it every tensor travels in the message, and the answers are the same', async () => {
    const probe = open({ sharedMemoryBytesMax: 0 });
    await probe.load(models.identity(1, columns));
    expect(isShared(probe.link.lend(100_000))).toBe(false);
    const answer = await probe.answered(probe.dispatch(1, input(9), [0]));
    expect(isShared(answer.region)).toBe(false);
    expect(answer.outputs[0]?.data.every((byte) => byte === 9)).toBe(true);
  });

  test('memory that cannot be had is told, and the link works without', async () => {
    const reasons: string[] = [];
    const probe = open({
      sharedMemoryBytesMax: 2 ** 52,
      onSharedMemoryUnavailable: (reason) => reasons.push(reason),
    });
    await probe.load(models.identity(1, columns));
    await probe.answered(probe.dispatch(1, input(9), [0]));
    expect(reasons.length).toBe(1);
    expect(reasons[0]).toMatch(/^shared memory is not available/);
  });

  test('when the inputs find no room they travel in the message', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    const held: Region[] = [];
    for (let region = probe.link.lend(100_000); ; region = probe.link.lend(100_000)) {
      held.push(region);
      if (!isShared(region)) break;
    }
    expect(held.length).toBe(Math.floor(halfBytes / 100_032) + 1);
    const answer = await probe.answered(probe.dispatch(1, input(4), [0]));
    expect(answer.outputs[0]?.data.every((byte) => byte === 4)).toBe(true);
    for (const region of held) region.release();
    expect(isShared(probe.link.lend(100_000))).toBe(true);
  });

  test('when the outputs find no room they travel in the message, until some are released', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    const answers: AnsweredMessage[] = [];
    for (let fill = 1; fill <= 30; fill++) answers.push(await probe.answered(probe.dispatch(1, input(fill), [0])));
    const places = answers.map(({ region }) => isShared(region));
    const room = Math.floor(halfBytes / 100_032);
    expect(places).toEqual(Array.from({ length: 30 }, (_, index) => index < room));
    for (const [index, { outputs }] of answers.entries()) {
      expect(outputs[0]?.data.every((byte) => byte === index + 1)).toBe(true);
    }
    for (const { region } of answers) region.release();
    const next = await probe.answered(probe.dispatch(1, input(99), [0]));
    expect(isShared(next.region)).toBe(true);
    expect(() => answers[0]?.region.release()).toThrow(/released twice/);
  });

  test('ten thousand batches later all of it is still there', async () => {
    const probe = open({ sharedMemoryBytesMax: 8 * 20_480 });
    await probe.load(models.identity(1, 5000));
    const data = new Uint8Array(20_000).fill(1);
    let sharedAnswers = 0;
    for (let round = 0; round < 5000; round++) {
      const batches = [0, 1].map(() => probe.dispatch(1, [{ index: 0, shape: [1, 5000], data }], [0]));
      for (const batch of batches) {
        const { region } = await probe.answered(batch);
        if (region.bytes.buffer.byteLength === 8 * 20_480) sharedAnswers++;
        region.release();
      }
      probe.forget();
    }
    expect(sharedAnswers).toBe(10_000);
    const regions = [0, 1, 2, 3].map(() => probe.link.lend(20_000));
    expect(regions.every(({ bytes }) => bytes.buffer.byteLength === 8 * 20_480)).toBe(true);
  });

  test('answers stay readable after the worker died', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    const answer = await probe.answered(probe.dispatch(1, input(77), [0]));
    await probe.end();
    expect(isShared(answer.region)).toBe(true);
    expect(answer.outputs[0]?.data.every((byte) => byte === 77)).toBe(true);
    answer.region.release();
  });
});

describe('a message over its maximum', () => {
  const options = { sharedMemoryBytesMax: 0, messageBytesMax: 65_536 };

  test('to the worker is refused in its turn, and the next batch runs', async () => {
    const probe = open(options);
    await probe.load(models.counting(1));
    const first = probe.dispatch(1, [{ index: 0, shape: [1], data: int64(20_000n) }], [0]);
    let isReleased = false;
    const large = probe.dispatch(1, input(1), [0], () => {
      isReleased = true;
    });
    const failure = await probe.failed(large);
    expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringMatching(/100000 bytes is longer/) });
    expect(isReleased).toBe(true);
    const batches = probe.received.flatMap((message) => ('batch' in message ? [message.batch] : []));
    expect(batches).toEqual([first, large]);
    const alone = probe.dispatch(1, input(1), [0]);
    expect((await probe.failed(alone)).code).toBe('unsupported');
    await probe.answered(probe.dispatch(1, [{ index: 0, shape: [1], data: int64(1n) }], [0]));
  });

  test('with a model’s configuration is a failed load', async () => {
    const probe = open(options);
    const spec = { ...models.counting(1), path: 'x'.repeat(70_000) };
    probe.call((link) => link.send({ kind: 'load', spec }));
    expect((await probe.until('load-failed')).message).toMatch(/longer than a message to a worker may be/);
    await probe.load(models.counting(2));
  });

  test('from the worker is a failure of its batch, and the next batch runs', async () => {
    const probe = open(options);
    await probe.load(models.identity(1, 1000));
    const rows = (count: number) => [{ index: 0, shape: [count, 1000], data: new Uint8Array(4000 * count) }];
    const fits = await probe.answered(probe.dispatch(1, rows(16), [0]));
    expect(fits.outputs[0]?.data.length).toBe(64_000);
    await probe.load(models.doubling(2, 1000));
    const failure = await probe.failed(probe.dispatch(2, rows(16), [0]));
    expect(failure).toMatchObject({ code: 'unsupported', message: expect.stringMatching(/answer of 128000 bytes/) });
    await probe.answered(probe.dispatch(2, rows(4), [0]));
  });
});

describe('a worker that dies', () => {
  test.each(['SIGKILL', 'SIGSEGV'] as const)(
    'by %s is gone, with the signal named, and its batches come back',
    async (signal) => {
      const probe = open();
      await probe.load(models.counting(1));
      const released: string[] = [];
      const run = (count: bigint) => [{ index: 0, shape: [1], data: int64(count) }];
      const first = probe.dispatch(1, run(1n), [0]);
      probe.dispatch(1, run(100_000_000_000n), [0], () => released.push('running'));
      await probe.answered(first);
      process.kill(probe.link.pid ?? 0, signal);
      const { reason } = await probe.until('gone');
      expect(reason).toBe(`worker process ${probe.link.pid} was ended by ${signal}`);
      expect(released).toEqual(['running']);
    },
  );

  test('by its own exit is gone, with the code and its last lines', async () => {
    const path = impostor(
      'exits',
      `for (let line = 1; line <= 100; line++) console.error('line ' + line);
       process.exit(7);`,
    );
    const { reason } = await open({ workerPath: path }).until('gone');
    expect(reason).toMatch(/^worker process \d+ exited with code 7; it said: line 93 \| .* \| line 100$/);
  });

  test('after it answered is heard to the end', async () => {
    const text = hexadecimal(hello, { kind: 'credit', batchesMax: 5 }, { kind: 'load-failed', model: 3, message: 'x' });
    const path = impostor('answers-and-exits', `write('${text}'); socket.end(() => process.exit(0));`);
    const probe = open({ workerPath: path });
    await probe.until('gone');
    expect(probe.received.map(({ kind }) => kind)).toEqual(['credit', 'load-failed', 'gone']);
  });

  test('of an uncaught error says which', async () => {
    const path = impostor('throws', `throw new Error('out of luck');`);
    const { reason } = await open({ workerPath: path }).until('gone');
    expect(reason).toMatch(/exited with code 1; it said: .*out of luck/);
  });
});

describe('a worker that breaks the protocol is killed and gone', () => {
  const answer = { kind: 'failed', batch: 5, code: 'cancelled', message: '' } as const;
  test.each([
    ['garbage', 'ff'.repeat(64), /a frame of \d+ bytes is over the maximum|multiple of 8/],
    ['no hello', hexadecimal({ kind: 'credit', batchesMax: 1 }), /the first frame is a credit, not a hello/],
    ['two hellos', hexadecimal(hello, hello), /a second hello/],
    ['another version', hexadecimal(hello).replace('4d494c4c01', '4d494c4c02'), /speaks version 2 of the dispatch/],
    ['an answer to nothing', hexadecimal(hello, answer), /an answer to batch 5 where none was due/],
  ])('by sending %s', async (name, bytes, message) => {
    const path = impostor(name.replaceAll(' ', '-'), `write('${bytes}'); setInterval(() => {}, 1000);`);
    const { reason } = await open({ workerPath: path }).until('gone');
    expect(reason).toMatch(/was ended by SIGKILL; it broke the protocol and was killed: /);
    expect(reason).toMatch(message);
  });

  test('by closing its socket while it lives on', async () => {
    const path = impostor('closes', `socket.destroy(); setInterval(() => {}, 1000);`);
    expect((await open({ workerPath: path }).until('gone')).reason).toMatch(/was ended by SIGKILL/);
  });
});

describe('a worker that cannot be started is gone', () => {
  test('when there is no such program', async () => {
    const probe = open({ execPath: '/nowhere/node' });
    const { reason } = await probe.until('gone');
    expect(reason).toMatch(/\/nowhere\/node .*could not be started: .*ENOENT/);
    expect(probe.link.pid).toBeUndefined();
  });

  test('when there is no such file', async () => {
    const { reason } = await open({ workerPath: '/nowhere/worker.js' }).until('gone');
    expect(reason).toMatch(/exited with code 1; it said: .*Cannot find module '\/nowhere\/worker.js'/);
  });

  test('when the operating system does not even take the attempt', async () => {
    const received: FromWorker[] = [];
    const gone = new Promise<void>((resolve) => {
      createLocalLane({ workerPath: 'x\0y', sharedMemoryBytesMax: 0 }).open((message) => {
        received.push(message);
        resolve();
      });
      expect(received).toEqual([]);
    });
    await gone;
    expect(received).toMatchObject([{ kind: 'gone', reason: expect.stringMatching(/could not be started/) }]);
  });
});

describe('the worker process', () => {
  test('has its own name and none of the router’s environment', async () => {
    process.env.MILLRACE_LANE_TEST = 'secret';
    const probe = open({ environment: { TZ: 'UTC' } });
    await probe.until('credit');
    const environment = readFileSync(`/proc/${probe.link.pid}/environ`, 'utf8').split('\0');
    expect(environment.filter((entry) => entry !== '')).toEqual(['TZ=UTC']);
    expect(readFileSync(`/proc/${probe.link.pid}/cmdline`, 'utf8')).toMatch(/^millrace-worker/);
  });

  test('ignores SIGINT and SIGTERM: the router decides when it ends', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    process.kill(probe.link.pid ?? 0, 'SIGINT');
    process.kill(probe.link.pid ?? 0, 'SIGTERM');
    await probe.answered(probe.dispatch(1, input(1), [0]));
  });

  test('exits with code 0 when it was stopped', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    probe.call((link) => link.stop());
    expect((await probe.until('gone')).reason).toBe(`worker process ${probe.link.pid} exited with code 0`);
  });

  test('ends by an error that names the cause when it is sent more than it gave credit for', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    for (let batch = 0; batch < 3; batch++) probe.dispatch(1, input(1), [0]);
    expect((await probe.until('gone')).reason).toMatch(
      /exited with code 2; it said: .*more than the 2 batches it had credit for/,
    );
  });

  test.each(['while it is idle', 'in the middle of a run'])('ends when its router is killed %s', async (when) => {
    const isRunning = when !== 'while it is idle';
    const script = `
      import { createLocalLane } from ${JSON.stringify(new URL('../../packages/router/dist/index.js', import.meta.url).href)};
      const lane = createLocalLane({ workerPath: ${JSON.stringify(mustFindWorker())}, sharedMemoryBytesMax: 1048576 });
      const link = lane.open((message) => {
        if (message.kind === 'gone') throw new Error(message.reason);
        if (message.kind === 'ready') {
          if (${isRunning}) for (const [batch, count] of [[1, 1n], [2, 100000000000n]]) {
            const region = link.lend(8);
            new BigInt64Array(region.bytes.buffer, region.bytes.byteOffset, 1)[0] = count;
            link.send({ kind: 'dispatch', batch, model: 1, inputs: [{ index: 0, shape: [1], data: region.bytes }], outputs: [0], region });
          } else console.log(link.pid);
        }
        if (message.kind === 'answered') console.log(link.pid);
      });
      link.send({ kind: 'load', spec: ${JSON.stringify(models.counting(1))} });`;
    const router = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const line = await new Promise<string>((resolve) => createInterface(router.stdout).once('line', resolve));
    const pid = Number(line);
    expect(process.kill(pid, 0)).toBe(true);
    router.kill('SIGKILL');
    await untilEnded(pid);
  });
});

/** A process that is not our child has no event for its end; the test's own time limit bounds the wait. */
async function untilEnded(pid: number): Promise<void> {
  const isAlive = (): boolean => {
    try {
      // A process that nobody has waited for yet has ended all the same.
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return false;
    }
  };
  while (isAlive()) await new Promise((resolve) => setTimeout(resolve, 5));
}
